-- enqueue: adds a task to the end of the queue or, if it is due later, to the delayed ones.
-- args: id, parameters, eta (seconds; empty: now)
-- reply: pending, scheduled, or known (the id already exists, nothing changes)
local id, parameters, eta = ARGV[3], ARGV[4], ARGV[5]
if redis.call('EXISTS', k_task(id)) == 1 then
  return 'known'
end
local is_later = eta ~= '' and tonumber(eta) >= tonumber(now)
local status = is_later and 'scheduled' or 'pending'
redis.call('HSET', k_task(id), 'status', status, 'queue', queue, 'parameters', parameters,
  'created', now, 'updated', now)
redis.call('ZINCRBY', k_queues, 0, queue)
if is_later then
  redis.call('HSET', k_task(id), 'eta', eta)
  redis.call('ZADD', k_scheduled, eta, id)
else
  put_last(id)
end
return status
