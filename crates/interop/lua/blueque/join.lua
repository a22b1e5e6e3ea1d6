-- join: registers a Windlass listener and counts it once.
-- args: listener, lifetime without a heartbeat (ms), record
-- reply: joined, or renewed if it was already registered
local listener, alive, record = ARGV[3], ARGV[4], ARGV[5]
local is_new = redis.call('SADD', k_listeners, listener)
redis.call('ZINCRBY', k_queues, is_new, queue)
redis.call('ZADD', k_heartbeats, now_ms + alive, listener)
redis.call('SET', k_worker(listener), record, 'PX', alive)
return is_new == 1 and 'joined' or 'renewed'
