-- Puts the task of a process back at the front of its queue, the right end, and forgets the process. Answers how many
-- tasks went back: none where somebody was faster.
local function put_back(worker, queue, process)
  local from = process_key(process)
  local tasks = redis.call('LLEN', from)
  for _ = 1, tasks do
    redis.call('LMOVE', from, queue_key(queue), 'RIGHT', 'RIGHT')
  end
  redis.call('SREM', doing_key(worker, queue), process)
  redis.call('ZREM', own('processes', worker), process)
  return tasks
end

-- The queue in the name of a process that we started.
local function queue_in(process)
  return string.match(process, '^(.*)_[^_]*$')
end

-- Puts back what is noted as this worker's at a queue, or at all of them where none is named: the newest first, so that
-- the oldest is taken next. Answers how many tasks went back and how much of the limit is left.
local function put_back_noted(worker, only, limit, touched)
  local put = 0
  for _, process in ipairs(redis.call('ZREVRANGE', own('processes', worker), 0, -1)) do
    local queue = queue_in(process)
    if limit > 0 and queue and (not only or queue == only) then
      put = put + put_back(worker, queue, process)
      touched[queue] = true
      limit = limit - 1
    end
  end
  return put, limit
end

-- The same for what nothing of ours notes; the third answer says that nobody can tell whose it is.
local function put_back_left(worker, queue, limit)
  local put = 0
  local processes, is_undecided = left_behind(worker, queue)
  for _, process in ipairs(processes) do
    if limit > 0 then
      put = put + put_back(worker, queue, process)
      limit = limit - 1
    end
  end
  return put, limit, is_undecided
end
