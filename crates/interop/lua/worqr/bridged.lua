-- bridged: returns the job id of a process that a bridge has started. A task that was taken back from a killed bridge gets
-- the id that it had there: tasks with the same bytes are interchangeable. Without a process, forgets the ids of tasks
-- that others have taken.
-- keys: the bridged processes: digest of the task and job id; the queue, the processes
-- uses: released or document
-- args: prefix, queue, process or empty
-- reply: the job id; nil if the process was taken back
local queue, process = ARGV[2], ARGV[3]
-- Far longer than a job id is remembered.
local EXPIRE_S = 86400

local bridged = own('bridged', queue)

-- Whether nobody has the task: it was taken back, and is waiting again or was taken by another worker.
local function is_open(other)
  return redis.call('EXISTS', process_key(other)) == 0
end

if process == '' then
  -- Nothing waits, so tasks that were taken back have been taken by others.
  if redis.call('EXISTS', queue_key(queue)) == 0 then
    for _, other in ipairs(redis.call('HKEYS', bridged)) do
      if is_open(other) then
        redis.call('HDEL', bridged, other)
      end
    end
  end
  return false
end

local task = redis.call('LINDEX', process_key(process), 0)
if not task then
  return false
end
local known = redis.call('HGET', bridged, process)
if known then
  return string.match(known, '^%x+ (.*)$')
end
local digest, id = redis.sha1hex(task), process
local entries = redis.call('HGETALL', bridged)
for at = 1, #entries, 2 do
  local other_digest, other_id = string.match(entries[at + 1], '^(%x+) (.*)$')
  if other_digest == digest and is_open(entries[at]) then
    redis.call('HDEL', bridged, entries[at])
    id = other_id
    break
  end
end
redis.call('HSET', bridged, process, digest .. ' ' .. id)
redis.call('EXPIRE', bridged, EXPIRE_S)
return id
