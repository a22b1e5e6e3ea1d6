-- progress: stores the progress of a running job; does not extend its lease.
-- keys: state running open claims left tokens holds leases owners stopping progress jobs sleepers wake hints
-- uses: stats notify limit lease
-- flags: allow-oom
-- args: id, token, fraction, message (empty, or TAB and the text)
-- reply: 1, or 0 if the token does not lease the job
local id, token = ARGV[1], ARGV[2]
local lease = exists and lease_of(id, token)
if not lease then
  return 0
end
add_to_lease(id, lease)
redis.call('HSET', k_progress, id, ARGV[3] .. '\t' .. digits(now) .. ARGV[4])
is_changed = true
commit()
return 1
