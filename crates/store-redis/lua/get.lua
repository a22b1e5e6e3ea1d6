-- get: reads one job.
-- keys: state jobs opts errors results scheduled running open stopping progress final
-- uses: stats state opts read
-- flags: no-writes
-- args: id
-- reply: an empty list, or the twelve values of lib/read
local reply = {}
if not exists or not read_job(ARGV[1], true, reply) then
  return {}
end
return reply
