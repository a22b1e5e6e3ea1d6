-- delete: deletes a queue and notifies its workers. The tasks are kept in a separate list until their locks are freed.
-- flags: allow-oom
-- keys: the queue, the deleted tasks of this call, the set of such lists
-- uses: released or document
-- args: prefix, queue, nonce of this call
-- reply: number of tasks in the queue
local queue, nonce = ARGV[2], ARGV[3]
local deleted = own('deleted', nonce)
if redis.call('SISMEMBER', own('deleted'), nonce) == 1 then
  return redis.call('LLEN', deleted)
end
local count = redis.call('LLEN', queue_key(queue))
if count > 0 then
  redis.call('RENAME', queue_key(queue), deleted)
  redis.call('SADD', own('deleted'), nonce)
end
forget_queue(queue)
redis.call('PUBLISH', channel(queue, 'delete'), '')
return count
