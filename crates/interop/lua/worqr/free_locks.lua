-- free: frees the locks of the first tasks of a deleted queue and removes these tasks, unless somebody was faster.
-- flags: allow-oom
-- keys: the deleted tasks, the set of such lists, the locks
-- uses: released or document
-- args: prefix, nonce, how many tasks there were when they were read, digests of the first of them
-- reply: how many tasks are left
local LAST_FIXED = 3

local nonce = ARGV[2]
local aside = own('deleted', nonce)
-- The list only ever gets shorter, so its length says which tasks are the first.
if redis.call('LLEN', aside) == tonumber(ARGV[3]) then
  for at = LAST_FIXED + 1, #ARGV do
    redis.call('DEL', lock_key(ARGV[at]))
  end
  redis.call('LTRIM', aside, #ARGV - LAST_FIXED, -1)
end
local left = redis.call('LLEN', aside)
if left == 0 then
  redis.call('SREM', own('deleted'), nonce)
end
return left
