-- find: the queues a worker takes jobs from.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot
-- reply: its queues with tabs between; nothing when nobody knows it
begin()
local worker = known(ARGV[1])
return worker and worker.queues or false
