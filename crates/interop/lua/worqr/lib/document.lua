-- The keys and channels of the document's layout, and who is who there.
-- Its set of processes in progress is one per worker and queue. Beside it stand keys of our own, windlass_…: the workers
-- of ours, the start of each process, the queues we filled, and the locks of unique tasks, which the document has not.
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

local function doing_key(worker, queue)
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

-- New tasks are told on the channel that has the plain name of the queue.
local function news(queue)
  return prefix .. queue
end

-- A process may have any name: its worker's sets say where it belongs.
local function home(worker, process)
  local queue = string.match(process, '^(.*)_[^_]*$')
  if queue and redis.call('SISMEMBER', doing_key(worker, queue), process) == 1 then
    return queue
  end
  for _, served in ipairs(redis.call('SMEMBERS', served_key(worker))) do
    if redis.call('SISMEMBER', doing_key(worker, served), process) == 1 then
      return served
    end
  end
  return nil
end

-- The name of a queue does not show that it is one.
local function remember_queue(queue)
  redis.call('SADD', own('queues'), queue)
end

local function forget_queue(queue)
  redis.call('SREM', own('queues'), queue)
end

local function note_worker(worker, seconds)
  redis.call('SADD', workers, worker)
  redis.call('SET', timer_key(worker), 'RUN', 'EX', seconds)
end

local function forget_worker(worker)
  redis.call('SREM', workers, worker)
end

local function is_permanent(_)
  return false
end

-- Whose a process is, is never in doubt here.
local function left_behind(worker, queue)
  return redis.call('SMEMBERS', doing_key(worker, queue)), false
end

local function note_dead(_) end

local function drop_doing(worker, queue)
  redis.call('DEL', doing_key(worker, queue))
end
