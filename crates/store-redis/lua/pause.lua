-- pause: stops answering claims; everything else goes on.
-- keys: state leases owners sleepers wake hints
-- uses: stats notify
-- flags: allow-oom
-- args: none
-- reply: `absent` when the queue does not exist, else 1
if not exists then
  return 'absent'
end
f[PAUSED] = 1
is_changed = true
commit()
return 1
