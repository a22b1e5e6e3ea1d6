-- Returns the task of a process to the front (the right end) of its queue and removes the process. Returns the number of
-- tasks, which is 0 if another client was faster.
local function put_back(worker, queue, process)
  local from = process_key(process)
  local tasks = redis.call('LLEN', from)
  for _ = 1, tasks do
    redis.call('LMOVE', from, queue_key(queue), 'RIGHT', 'RIGHT')
  end
  redis.call('SREM', in_progress_key(worker, queue), process)
  redis.call('ZREM', own('processes', worker), process)
  return tasks
end

-- Returns the queue of a process that Windlass started.
local function queue_in_name(process)
  return string.match(process, '^(.*)_[^_]*$')
end

-- Puts back the processes recorded for this worker, of queue `only` if it is set. Starts with the newest, so that the
-- oldest is taken next. Returns the number of tasks and the rest of the limit.
local function put_back_recorded(worker, only, limit, touched)
  local returned = 0
  for _, process in ipairs(redis.call('ZREVRANGE', own('processes', worker), 0, -1)) do
    local queue = queue_in_name(process)
    if limit > 0 and queue and (not only or queue == only) then
      returned = returned + put_back(worker, queue, process)
      touched[queue] = true
      limit = limit - 1
    end
  end
  return returned, limit
end

-- The same for processes that Windlass has not recorded. The third result is true if their owner is uncertain.
local function put_back_unrecorded(worker, queue, limit)
  local returned = 0
  local processes, is_undecided = unrecorded_processes(worker, queue)
  for _, process in ipairs(processes) do
    if limit > 0 then
      returned = returned + put_back(worker, queue, process)
      limit = limit - 1
    end
  end
  return returned, limit, is_undecided
end
