-- figures: how many of each there are in a queue; it changes nothing.
-- reply: figure of the queue (empty: unknown), listeners, pending, scheduled, started, complete, failed
return {
  redis.call('ZSCORE', k_queues, queue) or '',
  redis.call('SCARD', k_listeners),
  redis.call('LLEN', k_pending),
  redis.call('ZCARD', k_scheduled),
  redis.call('SCARD', k_started),
  redis.call('LLEN', k_complete),
  redis.call('LLEN', k_failed),
}
