-- heartbeat: extends the lifetime of a Windlass listener.
-- flags: allow-oom
-- args: listener, lifetime without a heartbeat (ms), record
-- reply: alive, or gone if it was declared lost
local listener, alive, record = ARGV[3], ARGV[4], ARGV[5]
if not is_registered(listener) then
  return 'gone'
end
redis.call('ZADD', k_heartbeats, now_ms + alive, listener)
redis.call('SET', k_worker(listener), record, 'PX', alive)
return 'alive'
