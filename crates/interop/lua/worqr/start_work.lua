-- start_work: lets a worker that lives serve a queue, and tells how many tasks wait there.
-- keys: the workers, the worker's timer and queues, the queue
-- uses: released or document, life, notify
-- args: prefix, worker, queue
-- reply: `started` and how many tasks wait; `unknown`: there is no such worker; `expired`: it must restart
local worker, queue = ARGV[2], ARGV[3]
if not is_noted(worker) then
  return { 'unknown' }
end
if not is_alive(worker) then
  return { 'expired' }
end
redis.call('SADD', served_key(worker), queue)
return { 'started', notify(queue) }
