-- read_deleted: returns the first tasks of a deleted queue; read-only.
-- flags: allow-oom
-- keys: the deleted tasks
-- uses: released or document
-- args: prefix, nonce of the call that deleted them, maximum number of tasks
-- reply: number of tasks, then the first of them
local deleted = own('deleted', ARGV[2])
return { redis.call('LLEN', deleted), redis.call('LRANGE', deleted, 0, ARGV[3] - 1) }
