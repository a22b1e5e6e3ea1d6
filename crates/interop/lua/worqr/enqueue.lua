-- enqueue: adds tasks to a queue and notifies its workers; adds a unique task only if its lock is free.
-- keys: the queue, the lock of a unique task
-- uses: released or document
-- args: prefix, queue, digest of a unique task (empty: not unique), tasks
-- reply: number of tasks added; 0 if a unique task already exists
local LAST_FIXED = 3
-- Well below the maximum number of values that Lua can unpack.
local PAGE = 1000

local queue, digest = ARGV[2], ARGV[3]
if digest ~= '' and redis.call('EXISTS', lock_key(digest)) == 1 then
  return 0
end
for first = LAST_FIXED + 1, #ARGV, PAGE do
  local last = math.min(first + PAGE - 1, #ARGV)
  redis.call('LPUSH', queue_key(queue), unpack(ARGV, first, last))
end
if digest ~= '' then
  redis.call('SET', lock_key(digest), ' ')
end
remember_queue(queue)
local count = #ARGV - LAST_FIXED
redis.call('PUBLISH', new_task_channel(queue), count)
return count
