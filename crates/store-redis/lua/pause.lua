-- pause: stops handing out jobs; everything else continues.
-- keys: state leases owners sleepers wake hints
-- uses: stats notify
-- flags: allow-oom
-- args: none
-- reply: `absent` if the queue does not exist, else 1
if not exists then
  return 'absent'
end
stats[PAUSED] = 1
is_changed = true
need_full(0)
commit()
return 1
