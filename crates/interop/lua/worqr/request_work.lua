-- request_work: publishes the number of waiting tasks of a queue, if any.
-- keys: the queue
-- uses: released or document, notify
-- args: prefix, queue
-- reply: number of waiting tasks
return notify(ARGV[2])
