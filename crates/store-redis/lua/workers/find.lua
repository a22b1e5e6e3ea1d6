-- find: reads the queues of a worker.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot
-- reply: its queues separated by tabs; nil if the worker is unknown
begin_write()
local worker = known_worker(ARGV[1])
return worker and worker.queues or false
