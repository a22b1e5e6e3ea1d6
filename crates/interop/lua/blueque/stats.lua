-- stats: returns the numbers of a queue; read-only.
-- reply: recorded number of listeners (empty: unknown queue), listeners, pending, scheduled, started, complete, failed
return {
  redis.call('ZSCORE', k_queues, queue) or '',
  redis.call('SCARD', k_listeners),
  redis.call('LLEN', k_pending),
  redis.call('ZCARD', k_scheduled),
  redis.call('SCARD', k_started),
  redis.call('LLEN', k_complete),
  redis.call('LLEN', k_failed),
}
