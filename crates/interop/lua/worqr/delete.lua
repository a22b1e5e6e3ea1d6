-- delete: takes a queue away with all its tasks and tells its workers. The tasks lie aside until their locks are free.
-- flags: allow-oom
-- keys: the queue, the deleted tasks of this call, the set of such lists
-- uses: released or document
-- args: prefix, queue, nonce of this call
-- reply: how many tasks were in it
local queue, nonce = ARGV[2], ARGV[3]
local aside = own('deleted', nonce)
if redis.call('SISMEMBER', own('deleted'), nonce) == 1 then
  return redis.call('LLEN', aside)
end
local count = redis.call('LLEN', queue_key(queue))
if count > 0 then
  redis.call('RENAME', queue_key(queue), aside)
  redis.call('SADD', own('deleted'), nonce)
end
forget_queue(queue)
redis.call('PUBLISH', channel(queue, 'delete'), '')
return count
