-- join: a listener of ours is known, counted once, and alive for a while.
-- args: listener, how long it is alive without a beat (ms), its record
-- reply: joined, or renewed when it was known already
local listener, alive, record = ARGV[3], ARGV[4], ARGV[5]
local is_new = redis.call('SADD', k_listeners, listener)
redis.call('ZINCRBY', k_queues, is_new, queue)
redis.call('ZADD', k_beats, now_ms + alive, listener)
redis.call('SET', k_worker(listener), record, 'PX', alive)
return is_new == 1 and 'joined' or 'renewed'
