-- Stores the jobs of an enqueue that do not exist, many at once.
local stored_total, scheduled_total = 0, 0

-- A key of the wrong type must fail the call before anything is written.
local function check_enqueue_types()
  redis.call('HLEN', k_opts)
  redis.call('HLEN', k_running)
  redis.call('ZCARD', k_scheduled)
  redis.call('ZCARD', k_expiring)
  redis.call('HLEN', k_unique)
  redis.call('HLEN', k_tombstones)
  redis.call('HLEN', k_final)
  if stale_records then
    redis.call('HLEN', k_ghosts)
  end
  if stats[WAITERS_UNTIL] > now then
    redis.call('ZCARD', k_sleepers)
    redis.call('LLEN', k_wake)
  end
  for i = 1, args_per_job == 2 and 1 or #ids do
    local spec = '\n' .. spec_of(i)
    if not uses_groups and string.find(spec, '\n' .. GROUP, 1, true) then
      -- Also for a job that is not ready yet.
      group_lib.start_groups()
      are_numbers_changed = true
    end
    local priority = tonumber(string.match(spec, '\n' .. PRIORITY .. '(%d)')) or PRIORITY_DEFAULT
    if not lanes[priority] then
      redis.call('LLEN', k_ready[priority])
      lanes[priority] = {}
    end
  end
end

local function store_scheduled()
  local earliest = math.huge
  for i = 1, #scheduled, 2 do
    earliest = math.min(earliest, scheduled[i])
  end
  local first = redis.call('ZRANGE', k_scheduled, 0, 0, 'WITHSCORES')[2]
  redis.call('ZADD', k_scheduled, unpack(scheduled))
  need_full(earliest)
  if not first or tonumber(first) > earliest then
    work = work + 1
  end
  scheduled_total = scheduled_total + #scheduled / 2
end

-- Writes the jobs that were collected so far.
local function store_jobs()
  local total = #jobs / 2
  if total == 0 then
    return
  end
  if #expired_tombstones > 0 then
    redis.call('HDEL', k_tombstones, unpack(expired_tombstones))
    redis.call('ZREM', k_forgetting, unpack(expired_tombstones))
  end
  redis.call('HSET', k_jobs, unpack(jobs))
  local new_opts = {}
  for id, text in pairs(all_opts) do
    new_opts[#new_opts + 1] = id
    new_opts[#new_opts + 1] = text
  end
  if #new_opts > 0 then
    redis.call('HSET', k_opts, unpack(new_opts))
  end
  for key, id in pairs(new_unique) do
    redis.call('HSET', k_unique, key, id)
  end
  for priority, entries in pairs(lanes) do
    if #entries > 0 then
      redis.call('RPUSH', k_ready[priority], unpack(entries))
      stats[READY + priority] = stats[READY + priority] + #entries
      work = work + #entries
      lanes[priority] = {}
    end
  end
  if #scheduled > 0 then
    store_scheduled()
  end
  if #expiring > 0 then
    redis.call('ZADD', k_expiring, unpack(expiring))
  end
  stats[TOTAL_ENQUEUED] = stats[TOTAL_ENQUEUED] + total
  count(ENQUEUED_MINUTE, total)
  stored_total, is_changed = stored_total + total, true
  created, jobs, all_opts, new_unique, scheduled, expiring, expired_tombstones = {}, {}, {}, {}, {}, {}, {}
end

-- Enqueues the jobs of the call; `before_commit` is optional.
local function enqueue_all(before_commit)
  if not exists then
    return 'absent'
  elseif stats[PARTITIONS] ~= tonumber(ARGV[KNOWN_PARTITIONS]) then
    return 'moved ' .. stats[PARTITIONS]
  elseif #ids == 0 then
    return {}
  end
  check_enqueue_types()
  for i = 1, #ids do
    replies[i] = enqueue_one(i)
  end
  store_jobs()
  if stored_total == 0 then
    -- The existing jobs must have reached the replicas too: WAIT needs a write to wait for.
    is_dirty = true
  end
  local is_large = false
  if stats[GROW_AT] > 0 and not uses_groups then
    local waiting = redis.call('ZCARD', k_scheduled)
    for priority = 0, PRIORITY_LAST do
      waiting = waiting + stats[READY + priority]
    end
    is_large = waiting > stats[GROW_AT]
  end
  if stored_total == #ids and scheduled_total == 0 then
    replies = { STORED_READY }
  end
  if is_large then
    replies[#replies + 1] = 'grow'
  end
  if before_commit then
    before_commit()
  end
  call_reply = replies
  commit()
  return replies
end
