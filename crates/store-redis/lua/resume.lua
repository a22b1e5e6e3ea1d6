-- resume: answers claims again.
-- keys: state leases owners sleepers wake hints
-- uses: stats notify
-- flags: allow-oom
-- args: none
-- reply: `absent` when the queue does not exist, else 1
if not exists then
  return 'absent'
end
f[PAUSED] = 0
-- As many sleepers as there are jobs to find, one at least.
for priority = 0, 9 do
  work = work + f[READY + priority]
end
work = math.max(work, 1)
is_changed = true
commit()
return 1
