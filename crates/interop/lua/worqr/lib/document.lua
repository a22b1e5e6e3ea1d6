-- Keys and channels of the document layout, and the owners of processes.
-- It has one set of processes in progress per worker and queue. Windlass adds keys windlass_…: its workers, the start
-- time of each process, the queues it filled, and the locks of unique tasks, which the document does not define.
local prefix = ARGV[1]

local function own(kind, name)
  return prefix .. 'windlass_' .. kind .. (name and '_' .. name or '')
end

local workers = prefix .. 'Workers'
local expiring = workers

local function queue_key(queue)
  return prefix .. queue
end

local function process_key(process)
  return prefix .. process
end

local function in_progress_key(worker, queue)
  return prefix .. worker .. '_' .. queue
end

local function served_key(worker)
  return prefix .. 'WorkMap_' .. worker
end

local function timer_key(worker)
  return prefix .. worker
end

local function lock_key(digest)
  return own('unique', digest)
end

local function channel(queue, kind)
  return prefix .. queue .. '_' .. kind
end

-- New tasks are announced on the channel with the plain name of the queue.
local function new_task_channel(queue)
  return prefix .. queue
end

-- Returns the queue of a process. A process may have any name, so the sets of its worker decide.
local function queue_of(worker, process)
  local queue = string.match(process, '^(.*)_[^_]*$')
  if queue and redis.call('SISMEMBER', in_progress_key(worker, queue), process) == 1 then
    return queue
  end
  for _, served in ipairs(redis.call('SMEMBERS', served_key(worker))) do
    if redis.call('SISMEMBER', in_progress_key(worker, served), process) == 1 then
      return served
    end
  end
  return nil
end

-- A queue cannot be recognised by its key.
local function remember_queue(queue)
  redis.call('SADD', own('queues'), queue)
end

local function forget_queue(queue)
  redis.call('SREM', own('queues'), queue)
end

local function register_worker(worker, seconds)
  redis.call('SADD', workers, worker)
  redis.call('SET', timer_key(worker), 'RUN', 'EX', seconds)
end

local function forget_worker(worker)
  redis.call('SREM', workers, worker)
end

local function is_permanent(_)
  return false
end

-- The sets name the worker, so the owner is never uncertain.
local function unrecorded_processes(worker, queue)
  return redis.call('SMEMBERS', in_progress_key(worker, queue)), false
end

local function record_dead(_) end

local function drop_in_progress(worker, queue)
  redis.call('DEL', in_progress_key(worker, queue))
end
