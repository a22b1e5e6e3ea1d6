-- free_locks: frees the locks of the first tasks of a deleted queue and removes these tasks, unless the list changed.
-- flags: allow-oom
-- keys: the deleted tasks, the set of such lists, the locks
-- uses: released or document
-- args: prefix, nonce, expected number of tasks, digests of the first of them
-- reply: number of tasks left
local LAST_FIXED = 3

local nonce = ARGV[2]
local deleted = own('deleted', nonce)
-- The list only gets shorter, so its length identifies the first tasks.
if redis.call('LLEN', deleted) == tonumber(ARGV[3]) then
  for i = LAST_FIXED + 1, #ARGV do
    redis.call('DEL', lock_key(ARGV[i]))
  end
  redis.call('LTRIM', deleted, #ARGV - LAST_FIXED, -1)
end
local left = redis.call('LLEN', deleted)
if left == 0 then
  redis.call('SREM', own('deleted'), nonce)
end
return left
