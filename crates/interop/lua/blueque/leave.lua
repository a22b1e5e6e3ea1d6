-- leave: unregisters a Windlass listener that holds no tasks.
-- flags: allow-oom
-- args: listener
-- reply: left, or busy if it holds tasks; a cleanup recovers these once its time is over
local listener = ARGV[3]
if redis.call('LLEN', k_reserved(listener)) > 0 then
  return 'busy'
end
if redis.call('SREM', k_listeners, listener) == 1 then
  redis.call('ZINCRBY', k_queues, -1, queue)
end
redis.call('ZREM', k_heartbeats, listener)
redis.call('DEL', k_worker(listener))
return 'left'
