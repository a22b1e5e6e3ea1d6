-- Ends jobs, keeps their records within bounds, and prunes the rest.
local kept_now = 0

-- Holds the key of a job that ends until its time is over.
local function hold_key(id, opts, state)
  local until_ms = enqueued_at(id, opts) + tonumber(opts[UNIQUE_FOR])
  if until_ms > now then
    keep_tombstone(HELD_KEY .. opts[UNIQUE_KEY], state .. ' ' .. digits(until_ms) .. ' ' .. DUPLICATE .. id, until_ms)
    kept_now = kept_now + 1
  end
end

-- Ends a job that is not waiting and not claimed. `ending`: state, payload bytes; optional: started, reason, result.
local function end_job(id, opts, ending)
  local state = ending.state
  stats[TOTAL[state]] = stats[TOTAL[state]] + 1
  count(ENDED_MINUTE, 1)
  announce(id, state)
  is_changed = true
  if opts[GROUP] then
    group_lib.leave_slot_at_end(id, opts, state)
  end
  if opts[UNIQUE_KEY] and redis.call('HGET', k_unique, opts[UNIQUE_KEY]) == id then
    redis.call('HDEL', k_unique, opts[UNIQUE_KEY])
    if opts[UNIQUE_FOR] and state ~= 'cancelled' then
      hold_key(id, opts, state)
    end
  end
  local has_tombstone = opts[CUSTOM_ID] and rule(DEDUP_FOR) > 0
  if has_tombstone then
    local until_ms = now + rule(DEDUP_FOR)
    keep_tombstone(id, state .. ' ' .. digits(until_ms), until_ms)
  end
  local error_bytes = redis.call('HSTRLEN', k_errors, id)
  if ending.is_kept then
    local started = ending.started and digits(ending.started) or ''
    redis.call('HSET', k_final, id, table.concat({ state, digits(now), started, ending.reason or '' }, '\t'))
    redis.call('ZADD', ending.kept_in, now, id)
    need_full(rule(KEEP[state]) >= 0 and now + rule(KEEP[state]) or NEVER)
    if ending.result then
      redis.call('HSET', k_results, id, ending.result)
      stats[BYTES] = stats[BYTES] + #ending.result
    end
    local bytes = ending.bytes + error_bytes + (ending.result and #ending.result or 0)
    stats[KEPT_BYTES[state]] = stats[KEPT_BYTES[state]] + bytes
  else
    redis.call('HDEL', k_jobs, id)
    redis.call('HDEL', k_opts, id)
    redis.call('HDEL', k_errors, id)
    stats[BYTES] = stats[BYTES] - ending.bytes - error_bytes
  end
  if ending.is_kept or has_tombstone then
    kept_now = kept_now + 1
  end
  end_in_schedule(id, opts, state)
end

-- Ends a job as succeeded. It is kept if it has a result, if a caller waits for it, or if the rules keep all.
local function end_succeeded(id, opts, bytes, started, result)
  local keep = rule(KEEP_SUCCEEDED)
  local is_kept = keep == KEEP_ALL or (keep == KEEP_WITH_RESULT and (result ~= nil or opts[KEEP_OUTCOME] ~= nil))
  local ending = { state = 'succeeded', kept_in = k_succeeded, bytes = bytes, started = started, is_kept = is_kept }
  ending.result = is_kept and result or nil
  end_job(id, opts, ending)
end

-- Ends a job as dead.
local function end_dead(id, opts, bytes, started, reason)
  end_job(id, opts, { state = 'dead', kept_in = k_dead, bytes = bytes, started = started, reason = reason, is_kept = true })
end

-- Ends a job as cancelled.
local function end_cancelled(id, opts, bytes, started)
  end_job(id, opts, { state = 'cancelled', kept_in = k_cancelled, bytes = bytes, started = started, is_kept = true })
end

-- Removes the record of how a job ended. Returns the bytes it kept.
local function remove_end(id, state, set_key)
  local bytes = payload_length(id) + redis.call('HSTRLEN', k_errors, id) + redis.call('HSTRLEN', k_results, id)
  redis.call('ZREM', set_key, id)
  redis.call('HDEL', k_final, id)
  redis.call('HDEL', k_results, id)
  stats[KEPT_BYTES[state]] = stats[KEPT_BYTES[state]] - bytes
  is_changed = true
  return bytes
end

local function delete_job(id, state, set_key)
  -- In a lane that stops at a failure a dead job holds its slot.
  local opts = uses_groups and state == 'dead' and rule(GROUP_SLOT) == SLOT_SUCCESS and load_opts(id)
  if opts and opts[GROUP] then
    group_lib.leave_slot(id, opts)
  end
  stats[BYTES] = stats[BYTES] - remove_end(id, state, set_key)
  redis.call('HDEL', k_jobs, id)
  redis.call('HDEL', k_opts, id)
  redis.call('HDEL', k_errors, id)
end

-- Deletes up to `limit` finished jobs of a state that exceed its bounds, oldest first.
local function prune_state(state, set_key, limit)
  local total = redis.call('ZCARD', set_key)
  if total == 0 or limit <= 0 then
    return 0
  end
  local at = KEEP[state]
  local age, most, most_bytes = rule(at), rule(at + 1), rule(at + 2)
  local oldest = redis.call('ZRANGE', set_key, 0, math.min(limit, total) - 1, 'WITHSCORES')
  local pruned = 0
  for i = 1, #oldest, 2 do
    local is_old = age >= 0 and tonumber(oldest[i + 1]) + age <= now
    local is_beyond = (most >= 0 and total - pruned > most) or (most_bytes >= 0 and stats[KEPT_BYTES[state]] > most_bytes)
    if not is_old and not is_beyond then
      break
    end
    delete_job(oldest[i], state, set_key)
    pruned = pruned + 1
  end
  return pruned
end

-- Claims are removed many at once: those closed before this second, less the time they are remembered.
local function prune_claims(limit)
  local tokens = limit > 0 and redis.call('ZRANGEBYSCORE', k_tokens, '-inf', '(' .. digits(now - now % 1000 - CLAIM_TOMBSTONE), 'LIMIT', 0, limit) or {}
  if #tokens > 0 then
    redis.call('ZREM', k_tokens, unpack(tokens))
    redis.call('HDEL', k_claims, unpack(tokens))
    redis.call('HDEL', k_left, unpack(tokens))
    is_changed = true
  end
  return #tokens
end

-- Deletes up to `limit` finished jobs, tombstones and claims that exceed their bounds. Returns the number of jobs, of others,
-- and whether more jobs or tombstones may exceed them.
local function prune(limit)
  local pruned = prune_state('succeeded', k_succeeded, limit)
  pruned = pruned + prune_state('dead', k_dead, limit - pruned)
  pruned = pruned + prune_state('cancelled', k_cancelled, limit - pruned)
  local forgotten = prune_tombstones(limit - pruned)
  local claims = prune_claims(limit - pruned - forgotten)
  return pruned, forgotten + claims, pruned + forgotten == limit
end

-- Prunes twice as much as this call kept, so that kept jobs stay within their bounds.
local function prune_after_end()
  if kept_now > 0 then
    prune(kept_now * 2)
  end
end
