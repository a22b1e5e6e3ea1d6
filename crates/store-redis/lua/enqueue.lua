-- enqueue: stores jobs; the same id, or a unique key that is held, is a duplicate.
-- keys: state jobs opts ready suspects ghosts scheduled expiring unique running final tombstones forgetting leases owners sleepers wake hints
-- uses: stats notify opts state waiting enqueue enqueue_fast
-- flags:
-- guards: lazy
-- args: the earliest and the latest time in the generated ids (or 0 0), 1 to write even when all are duplicates, how many partitions the caller knows of, the spec of all (or empty), or `s` when each has its own; then id (each once), payload, and then spec of each job. A spec: opts, with `d`, `e` and `l` as MS or +MS from now
-- reply: `absent` when the queue does not exist; `moved N` when it has N partitions; else `r` when all are ready, or a word for each job: `r` ready, `s` scheduled, or `=STATE ID` of the job that was there first; then `grow` when the part is large
if not exists then
  return 'absent'
elseif f[PARTITIONS] ~= tonumber(ARGV[4]) then
  return 'moved ' .. f[PARTITIONS]
elseif #ids == 0 then
  return {}
end

-- Jobs that ask for nothing on their way, which are most, go the short way; alike ones the shortest.
local is_short = is_id_timed and not ghosts and not tombs
local is_alike = is_short and width == 2 and priority_of(ARGV[5]) and is_short_spec[ARGV[5]]

-- Writing a key of the wrong type must fail before anything else is written.
if ARGV[5] ~= '' or not is_short then
  redis.call('HLEN', k_opts)
end
if not is_alike then
  redis.call('HLEN', k_running)
  redis.call('ZCARD', k_scheduled)
  redis.call('ZCARD', k_expiring)
  redis.call('HLEN', k_unique)
  redis.call('HLEN', k_tombstones)
  redis.call('HLEN', k_final)
  if ghosts then
    redis.call('HLEN', k_ghosts)
  end
end
if f[GROW_AT] > 0 then
  redis.call('ZCARD', k_scheduled)
end
if f[SLEEPING_UNTIL] > now then
  redis.call('ZCARD', k_sleepers)
  redis.call('LLEN', k_wake)
end
for i = 1, width == 2 and 1 or #ids do
  local priority = priority_of(spec_of(i))
  if not lanes[priority] then
    redis.call('LLEN', k_ready[priority])
    lanes[priority] = {}
  end
end

if not is_alike or not store_alike(ARGV[5]) then
  for i = 1, #ids do
    local spec = spec_of(i)
    if is_short and is_short_spec[spec] and not stored_payloads[i] then
      replies[i] = store_short(i, spec)
    else
      replies[i] = accept(i)
    end
  end
  total = #jobs / 2
end

if total > 0 then
  if #untombed > 0 then
    redis.call('HDEL', k_tombstones, unpack(untombed))
    redis.call('ZREM', k_forgetting, unpack(untombed))
  end
  if #jobs > 0 then
    redis.call('HSET', k_jobs, unpack(jobs))
  end
  for id, text in pairs(all_opts) do
    some_opts[#some_opts + 1] = id
    some_opts[#some_opts + 1] = text
  end
  if #some_opts > 0 then
    redis.call('HSET', k_opts, unpack(some_opts))
  end
  for key, id in pairs(new_unique) do
    redis.call('HSET', k_unique, key, id)
  end
  for priority, entries in pairs(lanes) do
    if #entries > 0 then
      redis.call('RPUSH', k_ready[priority], unpack(entries))
      f[READY + priority] = f[READY + priority] + #entries
      work = work + #entries
    end
  end
  if #scheduled > 0 then
    local earliest = math.huge
    for i = 1, #scheduled, 2 do
      earliest = math.min(earliest, scheduled[i])
    end
    local first = redis.call('ZRANGE', k_scheduled, 0, 0, 'WITHSCORES')[2]
    redis.call('ZADD', k_scheduled, unpack(scheduled))
    if not first or tonumber(first) > earliest then
      work = work + 1
    end
  end
  if #expiring > 0 then
    redis.call('ZADD', k_expiring, unpack(expiring))
  end
  f[TOTAL_ENQUEUED] = f[TOTAL_ENQUEUED] + total
  count(ENQUEUED_MINUTE, total)
  is_changed = true
elseif ARGV[3] == '1' and not is_changed then
  -- What was there first must have reached the replicas too: something to wait for.
  write_figures()
end
commit()
local is_large = false
if f[GROW_AT] > 0 then
  local waiting = redis.call('ZCARD', k_scheduled)
  for priority = 0, 9 do
    waiting = waiting + f[READY + priority]
  end
  is_large = waiting > f[GROW_AT]
end
if total == #ids and #scheduled == 0 then
  replies = { 'r' }
end
if is_large then
  replies[#replies + 1] = 'grow'
end
return replies
