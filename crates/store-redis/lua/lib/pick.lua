-- Taking jobs out of the lanes, first priority first. A suspect is taken alone.
local PAGE, CLAIM_MAX, LOOKED_AT_MAX = 100, 100, 200
local SUSPECT_TRUST = 10000

-- A boot takes its next suspect only when the last one ended or has run for a while.
local function may_take_suspect(request)
  if request.owner == '' then
    return true
  end
  local record = redis.call('HGET', k_owners, request.owner)
  local token, id = string.match(record or '', '^%d+\t%d*\t[^\t]*\t([^\t]+)\t(.+)$')
  if not token then
    return true
  end
  local since = issued_at(token)
  -- A token from the future: the clock was set back, and how long it ran is not known.
  return now < since or now - since >= SUSPECT_TRUST or not held(id, token)
end

local function expire(id, o, state)
  local bytes = redis.call('HSTRLEN', k_jobs, id)
  unplace(id, o, state)
  bury(id, o, bytes, nil, 'expired')
end

-- What stands in a lane at and after `from`: entries with id, payload, opts, and whether they are stale.
local function look_at(priority, from, most)
  local entries = redis.call('LRANGE', k_ready[priority], from, from + most - 1)
  if #entries == 0 then
    return entries
  end
  local ids, generations, found = entries, nil, {}
  for i = 1, #entries do
    if string.byte(entries[i]) == 9 then
      local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
      generations = generations or {}
      generations[i] = tonumber(generation)
      ids[i] = id
    end
  end
  local ghosts = f[GHOSTS] > 0 and redis.call('HMGET', k_ghosts, unpack(ids)) or nil
  local payloads = redis.call('HMGET', k_jobs, unpack(ids))
  local opts = redis.call('HLEN', k_opts) > 1 and redis.call('HMGET', k_opts, unpack(ids)) or nil
  for i = 1, #ids do
    local ghost = ghosts and ghosts[i]
    local generation = generations and generations[i] or 0
    found[i] = {
      id = ids[i],
      priority = priority,
      payload = payloads[i] or nil,
      opts = opts and opts[i] or nil,
      is_stale = ghost and generation <= tonumber(string.match(ghost, ' (%d+)$')),
    }
  end
  return found
end

local function drop_ghost(id)
  local stale, generation = string.match(redis.call('HGET', k_ghosts, id) or '', '^(%d+) (%d+)$')
  if stale then
    if tonumber(stale) > 1 then
      redis.call('HSET', k_ghosts, id, whole(tonumber(stale) - 1) .. ' ' .. generation)
    else
      redis.call('HDEL', k_ghosts, id)
    end
    f[GHOSTS] = f[GHOSTS] - 1
  end
end

-- Passes by an entry that is no job to take: stale, without payload, or expired.
local function pass_by(entry, priority)
  if entry.is_stale then
    drop_ghost(entry.id)
    return
  end
  is_changed = true
  f[READY + priority] = f[READY + priority] - 1
  if entry.payload then
    local o = read_opts(entry.opts)
    redis.call('ZREM', k_expiring, entry.id)
    bury(entry.id, o, #entry.payload, nil, 'expired')
  end
end

local function is_expired(opts)
  local at = opts and string.find(opts, '\ne%d') and tonumber(string.match(opts, '\ne(%d+)\n'))
  at = at or (opts and tonumber(string.match(opts, '^e(%d+)\n')))
  return at and at <= now
end

-- Takes from one list into `taken`; answers whether the claim has met its bounds.
local function take_others(priority, taken, max, seen)
  local from = 0
  while #taken < max and f[READY + priority] > 0 do
    local room = math.min(max - #taken, LOOKED_AT_MAX - seen.looked_at)
    if room <= 0 then
      seen.again = 1
      break
    end
    local found = look_at(priority, from, room)
    if #found == 0 then
      break
    end
    for i = 1, #found do
      local entry = found[i]
      local is_late = entry.opts and not entry.is_stale and is_expired(entry.opts)
      if is_late and seen.passed >= PAGE then
        seen.is_over = true
        break
      end
      from = from + 1
      seen.looked_at = seen.looked_at + 1
      if entry.is_stale or not entry.payload or is_late then
        seen.passed = seen.passed + (is_late and 1 or 0)
        pass_by(entry, priority)
      else
        taken[#taken + 1] = entry
        f[READY + priority] = f[READY + priority] - 1
      end
    end
    if seen.is_over or seen.passed >= PAGE then
      seen.is_over = true
      break
    end
  end
  if from > 0 then
    redis.call('LTRIM', k_ready[priority], from, -1)
    f[BASE + priority] = f[BASE + priority] + from
    is_dirty = true
  end
end

-- Looks at the first suspect of a priority: 'none', 'expired' (and buried), or 'taken'.
local function meet_suspect(priority, taken, request, seen)
  local first = redis.call('ZRANGEBYSCORE', k_suspects, priority * LANE, '(' .. whole((priority + 1) * LANE), 'LIMIT', 0, 1)[1]
  if not first then
    return 'none'
  end
  if seen.may_take_suspect == nil then
    seen.may_take_suspect = may_take_suspect(request)
  end
  if not seen.may_take_suspect then
    return 'none'
  end
  if #taken > 0 then
    return 'ahead'
  end
  local text = redis.call('HGET', k_opts, first)
  if is_expired(text) then
    expire(first, read_opts(text), 'ready')
    seen.passed = seen.passed + 1
    return 'expired'
  end
  redis.call('ZREM', k_suspects, first)
  f[READY + priority] = f[READY + priority] - 1
  local payload = redis.call('HGET', k_jobs, first)
  taken[1] = { id = first, payload = payload or '', opts = text, priority = priority, is_suspect = true }
  is_changed = true
  return 'taken'
end

local function take(request, seen)
  local taken = {}
  local max = math.min(request.max, CLAIM_MAX)
  local are_there = has_suspects()
  for priority = 0, 9 do
    if f[READY + priority] > 0 and #taken < max then
      local met = are_there and 'expired' or 'none'
      while met == 'expired' and seen.passed < PAGE do
        met = meet_suspect(priority, taken, request, seen)
      end
      if met == 'taken' or met == 'ahead' or seen.passed >= PAGE then
        return taken
      end
      take_others(priority, taken, max, seen)
      if seen.is_over or seen.again then
        return taken
      end
    end
  end
  return taken
end
