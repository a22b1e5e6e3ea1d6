-- accept: a dispatched job is taken on; from now on it is held for a lease.
-- keys: state jobs running open claims left tokens holds leases owners stopping progress sleepers wake hints
-- uses: stats notify lease extend
-- flags: allow-oom
-- args: id, token, lease (ms)
-- reply: 1, or 0 when the token does not hold the job
local id, token, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local hold = exists and held(id, token)
local open = hold and open_claim(token)
if not open or not extend(open.owner, lease) then
  return 0
end
if hold.accepted == 'd' then
  hold.accepted = whole(now)
  redis.call('HSET', k_running, id, hold_text(hold))
end
commit()
return 1
