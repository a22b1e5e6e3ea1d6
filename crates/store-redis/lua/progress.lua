-- progress: says how far a job has come; renews nothing.
-- keys: state running open claims left tokens holds leases owners stopping progress jobs sleepers wake hints
-- uses: stats notify lease
-- flags: allow-oom
-- args: id, token, fraction, message (empty, or TAB and its text)
-- reply: 1, or 0 when the token does not hold the job
local id, token = ARGV[1], ARGV[2]
if not exists or not held(id, token) then
  return 0
end
redis.call('HSET', k_progress, id, ARGV[3] .. '\t' .. whole(now) .. ARGV[4])
is_changed = true
commit()
return 1
