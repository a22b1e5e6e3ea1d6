-- Moves waiting jobs between the ready lists, the lines of groups, the suspects and the scheduled jobs. The caller saves the opts.

local function has_suspects()
  return redis.call('ZCARD', k_suspects) > 0
end

local function index_expiry(id, opts)
  if opts[EXPIRES_AT] then
    redis.call('ZADD', k_expiring, opts[EXPIRES_AT], id)
  end
end

-- The score of a suspect before or after all others of its priority.
local function suspect_score(priority, at_front)
  local low, high = priority * SUSPECT_LANE, '(' .. digits((priority + 1) * SUSPECT_LANE)
  if at_front then
    local first = redis.call('ZRANGEBYSCORE', k_suspects, low, high, 'WITHSCORES', 'LIMIT', 0, 1)[2]
    return first and first - 1 or low + SUSPECT_LANE / 2
  end
  local last = redis.call('ZREVRANGEBYSCORE', k_suspects, high, low, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  return last and last + 1 or low + SUSPECT_LANE / 2
end

-- The entry of a job in a ready list. Only the full scripts claim a job whose entry has a generation, which may be 0.
local function entry_of(id, opts)
  local stale_record = stats[STALE_ENTRIES] > 0 and redis.call('HGET', k_ghosts, id)
  opts[GENERATION] = stale_record and digits(tonumber(string.match(stale_record, ' (%d+)$')) + 1) or nil
  return is_inline(opts) and id or '\t' .. (opts[GENERATION] or '0') .. '\t' .. id
end

-- Announces a job that is ready now.
local function announce_ready(id, opts)
  index_expiry(id, opts)
  announce(id, 'ready')
  work = work + 1
  is_changed = true
end

-- Counts and announces a job that was added to the lane of its priority.
local function count_ready(id, opts, priority)
  stats[READY + priority] = stats[READY + priority] + 1
  announce_ready(id, opts)
end

-- Adds a job to the lane of its priority, or to the line of its group.
local function add_ready(id, opts, at_front)
  if opts[GROUP] then
    opts[GENERATION] = nil
    group_lib.add_to_line(id, opts, at_front)
    announce_ready(id, opts)
    return
  end
  local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
  if is_suspect(opts) then
    opts[GENERATION] = nil
    redis.call('ZADD', k_suspects, suspect_score(priority, at_front), id)
    need_full(0)
  elseif at_front then
    redis.call('LPUSH', k_ready[priority], entry_of(id, opts))
    stats[LIST_BASE + priority] = stats[LIST_BASE + priority] - 1
  else
    redis.call('RPUSH', k_ready[priority], entry_of(id, opts))
  end
  count_ready(id, opts, priority)
end

-- Adds a job to the scheduled ones. Its opts are then in the hash, where a promotion of many reads them at once.
local function add_scheduled(id, opts, due)
  opts[DUE_AT], opts[GENERATION], opts.header = nil, nil, nil
  redis.call('ZADD', k_scheduled, due, id)
  need_full(due)
  index_expiry(id, opts)
  announce(id, 'scheduled')
  if redis.call('ZRANGE', k_scheduled, 0, 0)[1] == id then
    work = work + 1
  end
  is_changed = true
end

-- Leaves a stale entry in a list; a claim drops it when it reads it.
local function leave_stale_entry(id, opts)
  local stale_record = redis.call('HGET', k_ghosts, id)
  local stale = stale_record and tonumber(string.match(stale_record, '^%d+')) or 0
  redis.call('HSET', k_ghosts, id, digits(stale + 1) .. ' ' .. (opts[GENERATION] or '0'))
  stats[STALE_ENTRIES] = stats[STALE_ENTRIES] + 1
  need_full(0)
end

-- Removes a waiting job from its list, its line, the suspects or the scheduled jobs.
local function remove_waiting(id, opts, state)
  if state == 'ready' and opts[GROUP] then
    group_lib.remove_from_line(id, opts)
  elseif state == 'ready' then
    local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
    if is_suspect(opts) then
      redis.call('ZREM', k_suspects, id)
    else
      leave_stale_entry(id, opts)
    end
    stats[READY + priority] = stats[READY + priority] - 1
  else
    -- The record of the job must keep its due time.
    opts[DUE_AT] = state == 'scheduled' and redis.call('ZSCORE', k_scheduled, id) or opts[DUE_AT]
    redis.call('ZREM', k_scheduled, id)
    save_opts(id, opts)
  end
  if opts[EXPIRES_AT] then
    redis.call('ZREM', k_expiring, id)
  end
  is_changed = true
end

-- Makes a scheduled job ready, at the back of its list.
local function promote_one(id, opts, due)
  redis.call('ZREM', k_scheduled, id)
  if opts[EXPIRES_AT] then
    redis.call('ZREM', k_expiring, id)
  end
  opts[DUE_AT] = digits(due)
  add_ready(id, opts, false)
  save_opts(id, opts)
end

-- Makes up to `limit` due jobs ready in the order (due, id), batched, since many may be due at once.
local function promote_due(limit)
  local due = redis.call('ZRANGEBYSCORE', k_scheduled, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
  if #due == 0 then
    return 0
  end
  local ids, lanes, saved = {}, {}, {}
  for i = 1, #due, 2 do
    ids[#ids + 1] = due[i]
  end
  local encoded_opts = redis.call('HMGET', k_opts, unpack(ids))
  local can_batch = stats[STALE_ENTRIES] == 0
  for i = 1, #ids do
    local text = can_batch and encoded_opts[i] and '\n' .. encoded_opts[i]
    can_batch = can_batch and not (text and (string.find(text, '\n' .. EXPIRIES, 1, true) or string.find(text, '\n' .. GROUP, 1, true)))
  end
  if not can_batch then
    for i = 1, #ids do
      promote_one(ids[i], decode_opts(encoded_opts[i]), tonumber(due[2 * i]))
    end
    return #ids
  end
  redis.call('ZREMRANGEBYRANK', k_scheduled, 0, #ids - 1)
  for i = 1, #ids do
    local id, opts = ids[i], decode_opts(encoded_opts[i])
    opts[DUE_AT], opts[GENERATION] = due[2 * i], nil
    saved[2 * i - 1], saved[2 * i] = id, encode_opts(opts)
    local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
    local lane = lanes[priority] or {}
    lanes[priority] = lane
    lane[#lane + 1] = '\t0\t' .. id
    announce(id, 'ready')
  end
  redis.call('HSET', k_opts, unpack(saved))
  for priority, lane in pairs(lanes) do
    redis.call('RPUSH', k_ready[priority], unpack(lane))
    stats[READY + priority] = stats[READY + priority] + #lane
  end
  work = work + #ids
  is_changed = true
  return #ids
end
