-- request_work: tells the workers of a queue how many tasks wait, if any do.
-- keys: the queue
-- uses: released or document, notify
-- args: prefix, queue
-- reply: how many tasks wait
return notify(ARGV[2])
