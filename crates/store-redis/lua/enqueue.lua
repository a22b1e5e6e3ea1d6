-- enqueue: stores jobs. A job whose id is known or whose unique key is held is a duplicate.
-- keys: state jobs opts ready suspects ghosts scheduled expiring unique running final tombstones forgetting leases owners sleepers wake hints
-- uses: stats call notify opts state waiting enqueue enqueue_fast
-- flags:
-- guards: lazy
-- args: call slot and number; earliest time in the generated ids (or 0) and milliseconds to the latest, number of partitions the caller knows of, spec of all jobs (may be empty) or OWN_SPECS; then id (each once) and payload per job, plus its spec with OWN_SPECS. A spec is encoded opts with DUE_AT, EXPIRES_AT and DEADLINE as MS, or +MS from now
-- reply: `absent` if the queue does not exist; `moved N` if it has N partitions; else a single STORED_READY if all jobs are ready, or per job STORED_READY, STORED_SCHEDULED or `DUPLICATE STATE SPACE ID` of the existing job; then `grow` if the partition is large
if not exists then
  return 'absent'
elseif stats[PARTITIONS] ~= tonumber(ARGV[KNOWN_PARTITIONS]) then
  return 'moved ' .. stats[PARTITIONS]
elseif #ids == 0 then
  return {}
end

-- Most jobs have no special options and take a fast path; a batch with one spec takes the fastest.
local can_be_fast = ids_carry_time and not stale_records and not tombstones
local is_uniform = can_be_fast and args_per_job == 2 and priority_of(ARGV[SPEC]) and is_fast_spec[ARGV[SPEC]]

-- A key of the wrong type must fail the call before anything is written.
if ARGV[SPEC] ~= '' or not can_be_fast then
  redis.call('HLEN', k_opts)
end
if not is_uniform then
  redis.call('HLEN', k_running)
  redis.call('ZCARD', k_scheduled)
  redis.call('ZCARD', k_expiring)
  redis.call('HLEN', k_unique)
  redis.call('HLEN', k_tombstones)
  redis.call('HLEN', k_final)
  if stale_records then
    redis.call('HLEN', k_ghosts)
  end
end
if stats[GROW_AT] > 0 then
  redis.call('ZCARD', k_scheduled)
end
if stats[WAITERS_UNTIL] > now then
  redis.call('ZCARD', k_sleepers)
  redis.call('LLEN', k_wake)
end
for i = 1, args_per_job == 2 and 1 or #ids do
  local priority = priority_of(spec_of(i))
  if not lanes[priority] then
    redis.call('LLEN', k_ready[priority])
    lanes[priority] = {}
  end
end

if not is_uniform or not store_uniform(ARGV[SPEC]) then
  for i = 1, #ids do
    local spec = spec_of(i)
    if can_be_fast and is_fast_spec[spec] and not stored_payloads[i] then
      replies[i] = store_fast(i, spec)
    else
      replies[i] = enqueue_one(i)
    end
  end
  total = #jobs / 2
end

if total > 0 then
  if #expired_tombstones > 0 then
    redis.call('HDEL', k_tombstones, unpack(expired_tombstones))
    redis.call('ZREM', k_forgetting, unpack(expired_tombstones))
  end
  if #jobs > 0 then
    redis.call('HSET', k_jobs, unpack(jobs))
  end
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
  stats[TOTAL_ENQUEUED] = stats[TOTAL_ENQUEUED] + total
  count(ENQUEUED_MINUTE, total)
  is_changed = true
else
  -- The existing jobs must have reached the replicas too: WAIT needs a write to wait for.
  is_dirty = true
end
local is_large = false
if stats[GROW_AT] > 0 then
  local waiting = redis.call('ZCARD', k_scheduled)
  for priority = 0, PRIORITY_LAST do
    waiting = waiting + stats[READY + priority]
  end
  is_large = waiting > stats[GROW_AT]
end
if total == #ids and #scheduled == 0 then
  replies = { STORED_READY }
end
if is_large then
  replies[#replies + 1] = 'grow'
end
call_reply = replies
commit()
return replies
