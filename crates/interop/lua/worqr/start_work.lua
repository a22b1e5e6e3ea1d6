-- start_work: registers a live worker for a queue, and publishes the number of waiting tasks.
-- keys: the workers, the worker's timer and queues, the queue
-- uses: released or document, liveness, notify
-- args: prefix, worker, queue
-- reply: `started` and the number of waiting tasks; `unknown`: there is no such worker; `expired`: it must restart
local worker, queue = ARGV[2], ARGV[3]
if not is_registered(worker) then
  return { 'unknown' }
end
if not is_alive(worker) then
  return { 'expired' }
end
redis.call('SADD', served_key(worker), queue)
return { 'started', notify(queue) }
