-- counts: both lengths at one moment; changes nothing.
-- reply: length of the queue, length of processing
return { redis.call('LLEN', queue), redis.call('LLEN', processing) }
