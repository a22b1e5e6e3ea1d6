-- resume: hands out jobs again, and ends the rest of the queue.
-- keys: state leases owners sleepers wake hints
-- uses: stats notify
-- flags: allow-oom
-- args: none
-- reply: `absent` if the queue does not exist, else 1
if not exists then
  return 'absent'
end
stats[PAUSED] = 0
if stored[5] then
  redis.call('HDEL', k_state, REST_FIELD)
end
work = grouped_ready()
-- Wakes as many waiters as there are ready jobs, at least one.
for priority = 0, PRIORITY_LAST do
  work = work + stats[READY + priority]
end
work = math.max(work, 1)
is_changed = true
commit()
return 1
