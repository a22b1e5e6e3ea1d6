-- stop_work: a worker serves a queue no more; what it has in progress there goes back to the front, and the others are told.
-- flags: allow-oom
-- keys: the worker's queues and processes, the queue, the processes in progress
-- uses: released or document, notify, put_back
-- args: prefix, worker, queue, how many processes to put back at most
-- reply: how many tasks went back, 1 when there may be more (ask again)
local worker, queue, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local touched = {}
redis.call('SREM', served_key(worker), queue)
local put, left = put_back_noted(worker, queue, limit, touched)
local more
more, left = put_back_left(worker, queue, left)
put = put + more
notify(queue)
return { put, left == 0 and 1 or 0 }
