-- beat: a listener of ours says that it is alive.
-- flags: allow-oom
-- args: listener, how long it is alive without a beat (ms), its record
-- reply: alive, or gone when it was declared lost: what it held belongs to others
local listener, alive, record = ARGV[3], ARGV[4], ARGV[5]
if not is_welcome(listener) then
  return 'gone'
end
redis.call('ZADD', k_beats, now_ms + alive, listener)
redis.call('SET', k_worker(listener), record, 'PX', alive)
return 'alive'
