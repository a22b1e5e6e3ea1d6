-- How jobs end, what is kept of them, and for how long.
local kept_in_step = 0

-- Ends a job that is in no place and under no claim. `ending`: state, payload bytes, and perhaps started, reason, result.
local function end_as(id, o, ending)
  local state = ending.state
  f[TOTAL[state]] = f[TOTAL[state]] + 1
  count(ENDED_MINUTE, 1)
  announce(id, state)
  is_changed = true
  if o.u and redis.call('HGET', k_unique, o.u) == id then
    redis.call('HDEL', k_unique, o.u)
  end
  local is_remembered = o.n and rule(DEDUP_FOR) > 0
  if is_remembered then
    local until_ms = now + rule(DEDUP_FOR)
    redis.call('HSET', k_tombstones, id, state .. ' ' .. whole(until_ms))
    redis.call('ZADD', k_forgetting, until_ms, id)
  end
  local error_bytes = redis.call('HSTRLEN', k_errors, id)
  if ending.is_kept then
    local started = ending.started and whole(ending.started) or ''
    redis.call('HSET', k_final, id, table.concat({ state, whole(now), started, ending.reason or '' }, '\t'))
    redis.call('ZADD', ending.kept_in, now, id)
    if ending.result then
      redis.call('HSET', k_results, id, ending.result)
      f[BYTES] = f[BYTES] + #ending.result
    end
    local bytes = ending.bytes + error_bytes + (ending.result and #ending.result or 0)
    f[KEPT_BYTES[state]] = f[KEPT_BYTES[state]] + bytes
  else
    redis.call('HDEL', k_jobs, id)
    redis.call('HDEL', k_opts, id)
    redis.call('HDEL', k_errors, id)
    f[BYTES] = f[BYTES] - ending.bytes - error_bytes
  end
  if ending.is_kept or is_remembered then
    kept_in_step = kept_in_step + 1
  end
end

-- Ends a job well. Without a result it is not kept, unless somebody waits or all are kept.
local function succeed(id, o, bytes, started, result)
  local keep = rule(KEEP_SUCCEEDED)
  local is_kept = keep == 1 or (keep == 0 and (result ~= nil or o.w ~= nil))
  local ending = { state = 'succeeded', kept_in = k_succeeded, bytes = bytes, started = started, is_kept = is_kept }
  ending.result = is_kept and result or nil
  end_as(id, o, ending)
end

-- Ends a job badly.
local function bury(id, o, bytes, started, reason)
  end_as(id, o, { state = 'dead', kept_in = k_dead, bytes = bytes, started = started, reason = reason, is_kept = true })
end

-- Ends a job on request.
local function end_cancelled(id, o, bytes, started)
  end_as(id, o, { state = 'cancelled', kept_in = k_cancelled, bytes = bytes, started = started, is_kept = true })
end

-- Takes a finished job out of what is kept.
local function forget(id, state, k_state_of)
  local bytes = redis.call('HSTRLEN', k_jobs, id) + redis.call('HSTRLEN', k_errors, id) + redis.call('HSTRLEN', k_results, id)
  redis.call('ZREM', k_state_of, id)
  redis.call('HDEL', k_final, id)
  redis.call('HDEL', k_results, id)
  f[KEPT_BYTES[state]] = f[KEPT_BYTES[state]] - bytes
  is_changed = true
  return bytes
end

local function forget_whole(id, state, k_state_of)
  f[BYTES] = f[BYTES] - forget(id, state, k_state_of)
  redis.call('HDEL', k_jobs, id)
  redis.call('HDEL', k_opts, id)
  redis.call('HDEL', k_errors, id)
end

-- Drops up to `limit` finished jobs of a state that are beyond their bounds, oldest first.
local function prune_state(state, k_state_of, limit)
  local total = redis.call('ZCARD', k_state_of)
  if total == 0 or limit <= 0 then
    return 0
  end
  local at = KEEP[state]
  local age, most, most_bytes = rule(at), rule(at + 1), rule(at + 2)
  local oldest = redis.call('ZRANGE', k_state_of, 0, math.min(limit, total) - 1, 'WITHSCORES')
  local pruned = 0
  for i = 1, #oldest, 2 do
    local is_old = age >= 0 and tonumber(oldest[i + 1]) + age <= now
    local is_beyond = (most >= 0 and total - pruned > most) or (most_bytes >= 0 and f[KEPT_BYTES[state]] > most_bytes)
    if not is_old and not is_beyond then
      break
    end
    forget_whole(oldest[i], state, k_state_of)
    pruned = pruned + 1
  end
  return pruned
end

local function prune_tombstones(limit)
  local total = limit > 0 and redis.call('ZCARD', k_forgetting) or 0
  if total == 0 then
    return 0
  end
  local oldest = redis.call('ZRANGE', k_forgetting, 0, math.min(limit, total) - 1, 'WITHSCORES')
  local ids = {}
  for i = 1, #oldest, 2 do
    if tonumber(oldest[i + 1]) > now and total - #ids <= rule(DEDUP_MAX) then
      break
    end
    ids[#ids + 1] = oldest[i]
  end
  if #ids > 0 then
    redis.call('ZREM', k_forgetting, unpack(ids))
    redis.call('HDEL', k_tombstones, unpack(ids))
    is_changed = true
  end
  return #ids
end

local function prune_claims(limit)
  local tokens = limit > 0 and redis.call('ZRANGEBYSCORE', k_tokens, '-inf', now - CLAIM_TOMBSTONE, 'LIMIT', 0, limit) or {}
  if #tokens > 0 then
    redis.call('ZREM', k_tokens, unpack(tokens))
    redis.call('HDEL', k_claims, unpack(tokens))
    redis.call('HDEL', k_left, unpack(tokens))
    is_changed = true
  end
  return #tokens
end

-- Drops up to `limit` finished jobs, ids and claims that are beyond their bounds: how many jobs, how many others.
local function prune(limit)
  local pruned = prune_state('succeeded', k_succeeded, limit)
  pruned = pruned + prune_state('dead', k_dead, limit - pruned)
  pruned = pruned + prune_state('cancelled', k_cancelled, limit - pruned)
  local forgotten = prune_tombstones(limit - pruned)
  forgotten = forgotten + prune_claims(limit - pruned - forgotten)
  return pruned, forgotten
end

-- After a step that ended jobs: twice as much is pruned as was kept, so that what is kept stays within its bounds.
local function prune_step()
  if kept_in_step > 0 then
    prune(kept_in_step * 2)
  end
end
