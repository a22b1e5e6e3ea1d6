-- stop_work: stops a worker serving a queue, returns its tasks to the front of it, and notifies the other workers.
-- flags: allow-oom
-- keys: the worker's queues and processes, the queue, the processes in progress
-- uses: released or document, notify, put_back
-- args: prefix, worker, queue, maximum number of processes to put back
-- reply: number of tasks returned, 1 if there may be more (call again)
local worker, queue, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local touched = {}
redis.call('SREM', served_key(worker), queue)
local returned, left = put_back_recorded(worker, queue, limit, touched)
local more
more, left = put_back_unrecorded(worker, queue, left)
returned = returned + more
notify(queue)
return { returned, left == 0 and 1 or 0 }
