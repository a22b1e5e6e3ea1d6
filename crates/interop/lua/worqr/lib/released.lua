-- Keys and channels of the released layout, and the owners of processes.
-- It has one set of processes in progress per queue, for all workers. So Windlass adds keys that the original does not
-- read: PREFIX:windlass:workers, and per worker PREFIX:windlass:processes:WORKER with the start time of each process.
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

local function in_progress_key(_, queue)
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

local function new_task_channel(queue)
  return channel(queue, 'work')
end

-- Returns the queue of a process, which is part of its name. As in the original, any client may end it.
local function queue_of(_, process)
  return string.match(process, '^(.*)_[^_]*$')
end

-- Queues are recognised by their keys.
local function remember_queue(_) end
local function forget_queue(_) end

local function register_worker(worker, seconds)
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

-- Returns the processes of a queue that no Windlass worker has recorded. They are attributed to this worker only if no
-- other living original serves the queue. Else returns an empty list, and `true` if their owner is uncertain.
local function unrecorded_processes(worker, queue)
  local is_recorded_elsewhere, is_ours = {}, {}
  for _, other in ipairs(redis.call('SMEMBERS', own('workers'))) do
    is_ours[other] = true
    if other ~= worker then
      for _, process in ipairs(redis.call('ZRANGE', own('processes', other), 0, -1)) do
        is_recorded_elsewhere[process] = true
      end
    end
  end
  local left = {}
  for _, process in ipairs(redis.call('SMEMBERS', in_progress_key(worker, queue))) do
    if not is_recorded_elsewhere[process] then
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

-- Records a worker that cannot be removed yet as dead: a cleanup finds it in the set of workers with a timer.
local function record_dead(worker)
  redis.call('SREM', permanent, worker)
  redis.call('SADD', expiring, worker)
end

local function drop_in_progress(_, _) end
