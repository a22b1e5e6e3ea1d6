-- get: reads one job.
-- keys: state jobs opts errors results scheduled running open stopping progress final leases
-- uses: stats state opts errors read
-- flags: no-writes
-- args: id
-- reply: an empty list, or the twelve values of lib/read and the end of the lease
local reply = {}
if not exists or not read_job(ARGV[1], true, true, reply) then
  return {}
end
local owner = reply[JOB_OWNER]
reply[JOB_LEASE_UNTIL] = owner and redis.call('ZSCORE', k_leases, owner) or false
return reply
