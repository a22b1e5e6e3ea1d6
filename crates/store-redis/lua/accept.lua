-- accept: accepts a dispatched job and extends its lease.
-- keys: state jobs running open claims left tokens holds leases owners stopping progress sleepers wake hints
-- uses: stats notify limit lease extend
-- flags: allow-oom
-- args: id, token, lease (ms)
-- reply: 1, or 0 if the token does not lease the job
local id, token, lease_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local lease = exists and lease_of(id, token)
local open = lease and open_claim(token)
if not open or not extend(open.owner, lease_ms) then
  return 0
end
if lease.accepted == NOT_ACCEPTED then
  lease.accepted = digits(now)
  redis.call('HSET', k_running, id, encode_lease(lease))
end
commit()
return 1
