-- leave: a listener of ours that holds nothing is forgotten, and counted no more.
-- flags: allow-oom
-- args: listener
-- reply: left, or busy when it holds tasks: these are found when its time is over
local listener = ARGV[3]
if redis.call('LLEN', k_reserved(listener)) > 0 then
  return 'busy'
end
if redis.call('SREM', k_listeners, listener) == 1 then
  redis.call('ZINCRBY', k_queues, -1, queue)
end
redis.call('ZREM', k_beats, listener)
redis.call('DEL', k_worker(listener))
return 'left'
