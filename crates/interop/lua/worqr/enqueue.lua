-- enqueue: puts tasks into a queue and tells its workers how many, in one step; a unique one only where no lock is held.
-- keys: the queue, the lock of a unique task
-- uses: released or document
-- args: prefix, queue, digest of a unique task (empty: not unique), tasks
-- reply: how many tasks were put in; 0 for a unique task that is there already
local LAST_FIXED = 3
-- As many values as Lua hands over at once without a doubt.
local AT_ONCE = 1000

local queue, digest = ARGV[2], ARGV[3]
if digest ~= '' and redis.call('EXISTS', lock_key(digest)) == 1 then
  return 0
end
for first = LAST_FIXED + 1, #ARGV, AT_ONCE do
  local last = math.min(first + AT_ONCE - 1, #ARGV)
  redis.call('LPUSH', queue_key(queue), unpack(ARGV, first, last))
end
if digest ~= '' then
  redis.call('SET', lock_key(digest), ' ')
end
remember_queue(queue)
local count = #ARGV - LAST_FIXED
redis.call('PUBLISH', news(queue), count)
return count
