-- The keys and channels of the released layout, and who is who there.
-- Its set of processes in progress is one per queue, for all workers. So keys of our own stand beside it, which the
-- original does not read: PREFIX:windlass:workers, and per worker PREFIX:windlass:processes:WORKER with the start of each.
local prefix = ARGV[1]

local function named(kind, name)
  return prefix .. ':' .. kind .. ':' .. name
end

local function own(kind, name)
  return prefix .. ':windlass:' .. kind .. (name and ':' .. name or '')
end

local workers = prefix .. ':workers'
local expiring = prefix .. ':expiringWorkers'
local permanent = prefix .. ':permanentWorkers'

local function queue_key(queue)
  return named('queues', queue)
end

local function process_key(process)
  return named('processes', process)
end

local function doing_key(_, queue)
  return named('workingProcesses', queue)
end

local function served_key(worker)
  return named('workingQueues', worker)
end

local function timer_key(worker)
  return named('workerTimers', worker)
end

local function lock_key(digest)
  return named('uniqueTasks', digest)
end

local function channel(queue, kind)
  return prefix .. '_' .. queue .. '_' .. kind
end

local function news(queue)
  return channel(queue, 'work')
end

-- The queue is part of the process's name; whoever has the name may end it, as in the original.
local function home(_, process)
  return string.match(process, '^(.*)_[^_]*$')
end

-- Queues are found by their keys.
local function remember_queue(_) end
local function forget_queue(_) end

local function note_worker(worker, seconds)
  redis.call('SADD', workers, worker)
  if seconds > 0 then
    redis.call('SADD', expiring, worker)
    redis.call('SREM', permanent, worker)
    redis.call('SET', timer_key(worker), 'RUN', 'EX', seconds)
  else
    redis.call('SADD', permanent, worker)
    redis.call('SREM', expiring, worker)
    redis.call('DEL', timer_key(worker))
  end
end

local function forget_worker(worker)
  redis.call('SREM', workers, worker)
  redis.call('SREM', expiring, worker)
  redis.call('SREM', permanent, worker)
end

local function is_permanent(worker)
  return redis.call('SISMEMBER', permanent, worker) == 1
end

-- What nothing of ours notes and a worker may have left at a queue: processes that are in nobody's list of ours. They are
-- taken only when no other living worker of the original serves the queue, because then they can be nobody else's. Answers them,
-- or nothing and `true` when they may be this worker's as well as another's.
local function left_behind(worker, queue)
  local is_noted_elsewhere, is_ours = {}, {}
  for _, other in ipairs(redis.call('SMEMBERS', own('workers'))) do
    is_ours[other] = true
    if other ~= worker then
      for _, process in ipairs(redis.call('ZRANGE', own('processes', other), 0, -1)) do
        is_noted_elsewhere[process] = true
      end
    end
  end
  local left = {}
  for _, process in ipairs(redis.call('SMEMBERS', doing_key(worker, queue))) do
    if not is_noted_elsewhere[process] then
      left[#left + 1] = process
    end
  end
  for _, other in ipairs(redis.call('SMEMBERS', workers)) do
    if other ~= worker and not is_ours[other] and redis.call('SISMEMBER', served_key(other), queue) == 1
        and (is_permanent(other) or redis.call('EXISTS', timer_key(other)) == 1) then
      return {}, #left > 0 and not is_ours[worker]
    end
  end
  return left, false
end

-- A worker that cannot be ended yet is dead nevertheless: whoever cleans up finds it among those with a timer.
local function note_dead(worker)
  redis.call('SREM', permanent, worker)
  redis.call('SADD', expiring, worker)
end

local function drop_doing(_, _) end
