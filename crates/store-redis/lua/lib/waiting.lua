-- The moves between a job's places while it waits: a ready list, the suspects, the schedule. Opts are the caller's to save.
local SUSPECT_AFTER = 2

local function is_suspect(o)
  return tonumber(o.x or 0) >= SUSPECT_AFTER
end

local function has_suspects()
  return (f[FRONT] ~= 0 or f[BACK] ~= 0) and redis.call('ZCARD', k_suspects) > 0
end

local function watch_expiry(id, o)
  if o.e then
    redis.call('ZADD', k_expiring, o.e, id)
  end
end

-- Puts a job that is in no place into its lane.
local function place_ready(id, o, at_front)
  local priority = tonumber(o.p or 5)
  o.g = nil
  if is_suspect(o) then
    local position
    if at_front then
      f[FRONT] = f[FRONT] - 1
      position = f[FRONT]
    else
      f[BACK] = f[BACK] + 1
      position = f[BACK]
    end
    redis.call('ZADD', k_suspects, priority * LANE + LANE / 2 + position, id)
  else
    local entry = id
    local ghost = f[GHOSTS] > 0 and redis.call('HGET', k_ghosts, id)
    if ghost then
      o.g = whole(tonumber(string.match(ghost, ' (%d+)$')) + 1)
      entry = '\t' .. o.g .. '\t' .. id
    end
    if at_front then
      redis.call('LPUSH', k_ready[priority], entry)
      f[BASE + priority] = f[BASE + priority] - 1
    else
      redis.call('RPUSH', k_ready[priority], entry)
    end
  end
  f[READY + priority] = f[READY + priority] + 1
  watch_expiry(id, o)
  announce(id, 'ready')
  work = work + 1
  is_changed = true
end

-- Puts a job that is in no place into the schedule.
local function place_scheduled(id, o, due)
  o.d = nil
  o.g = nil
  redis.call('ZADD', k_scheduled, due, id)
  watch_expiry(id, o)
  announce(id, 'scheduled')
  if redis.call('ZRANGE', k_scheduled, 0, 0)[1] == id then
    work = work + 1
  end
  is_changed = true
end

-- An entry stays behind in a list: it is dropped when a claim meets it.
local function leave_ghost(id, o)
  local ghost = redis.call('HGET', k_ghosts, id)
  local stale = ghost and tonumber(string.match(ghost, '^%d+')) or 0
  redis.call('HSET', k_ghosts, id, whole(stale + 1) .. ' ' .. (o.g or '0'))
  f[GHOSTS] = f[GHOSTS] + 1
end

-- Takes a waiting job out of its place.
local function unplace(id, o, state)
  if state == 'ready' then
    local priority = tonumber(o.p or 5)
    if is_suspect(o) then
      redis.call('ZREM', k_suspects, id)
    else
      leave_ghost(id, o)
    end
    f[READY + priority] = f[READY + priority] - 1
  else
    -- What is kept of it must still say when it would have been due.
    o.d = redis.call('ZSCORE', k_scheduled, id)
    redis.call('ZREM', k_scheduled, id)
    save_opts(id, o)
  end
  if o.e then
    redis.call('ZREM', k_expiring, id)
  end
  is_changed = true
end

-- Makes a scheduled job ready at the back.
local function promote_one(id, o, due)
  redis.call('ZREM', k_scheduled, id)
  if o.e then
    redis.call('ZREM', k_expiring, id)
  end
  o.d = whole(due)
  place_ready(id, o, false)
  save_opts(id, o)
end

-- Makes up to `limit` due jobs ready in the order (due, id); whole pages at once, since many may fall due together.
local function promote_due(limit)
  local due = redis.call('ZRANGEBYSCORE', k_scheduled, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
  if #due == 0 then
    return 0
  end
  local ids, lanes, saved = {}, {}, {}
  for i = 1, #due, 2 do
    ids[#ids + 1] = due[i]
  end
  local opts = redis.call('HMGET', k_opts, unpack(ids))
  local is_plain_way = f[GHOSTS] == 0
  for i = 1, #ids do
    is_plain_way = is_plain_way and not (opts[i] and string.find('\n' .. opts[i], '\nx', 1, true))
  end
  if not is_plain_way then
    for i = 1, #ids do
      promote_one(ids[i], read_opts(opts[i]), tonumber(due[2 * i]))
    end
    return #ids
  end
  redis.call('ZREMRANGEBYRANK', k_scheduled, 0, #ids - 1)
  for i = 1, #ids do
    local id, priority, text = ids[i], 5, nil
    if opts[i] then
      local o = read_opts(opts[i])
      o.d, o.g = due[2 * i], nil
      priority, text = tonumber(o.p or 5), opts_text(o)
    else
      text = 'd' .. due[2 * i] .. '\n'
    end
    saved[2 * i - 1], saved[2 * i] = id, text
    local lane = lanes[priority] or {}
    lanes[priority] = lane
    lane[#lane + 1] = id
    announce(id, 'ready')
  end
  redis.call('HSET', k_opts, unpack(saved))
  for priority, lane in pairs(lanes) do
    redis.call('RPUSH', k_ready[priority], unpack(lane))
    f[READY + priority] = f[READY + priority] + #lane
  end
  work = work + #ids
  is_changed = true
  return #ids
end
