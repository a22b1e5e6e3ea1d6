-- counts: returns the lengths of both lists; read-only.
-- reply: length of the queue, length of processing
return { redis.call('LLEN', queue), redis.call('LLEN', processing) }
