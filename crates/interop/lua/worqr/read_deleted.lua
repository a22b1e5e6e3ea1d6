-- deleted: shows the first tasks of a deleted queue; changes nothing.
-- flags: allow-oom
-- keys: the deleted tasks
-- uses: released or document
-- args: prefix, nonce of the call that deleted them, how many to show
-- reply: how many tasks there are, then the first of them
local aside = own('deleted', ARGV[2])
return { redis.call('LLEN', aside), redis.call('LRANGE', aside, 0, ARGV[3] - 1) }
