-- counts: reads the lengths of all three keys.
-- reply: jobs in the backlog, due jobs, unacknowledged jobs
return { redis.call('ZCARD', jobs), redis.call('LLEN', due), redis.call('LLEN', unacked) }
