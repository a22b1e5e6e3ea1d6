-- Enqueues jobs of schedules.
local HISTORY_MAX = 20

-- Formats an instant (ms) to the second, as in `2026-03-29T01:30:00Z`: the proleptic Gregorian calendar, in eras of 400
-- years that begin in March.
local instant_texts = {} -- many schedules have the same
local function instant_text(instant)
  if instant_texts[instant] then
    return instant_texts[instant]
  end
  local floor = math.floor
  local seconds = floor(instant / 1000)
  local days, second = floor(seconds / 86400), seconds % 86400
  local era, day_of_era = floor((days + 719468) / 146097), (days + 719468) % 146097
  local year_of_era = floor((day_of_era - floor(day_of_era / 1460) + floor(day_of_era / 36524) - floor(day_of_era / 146096)) / 365)
  local day_of_year = day_of_era - (365 * year_of_era + floor(year_of_era / 4) - floor(year_of_era / 100))
  local month_from_march = floor((5 * day_of_year + 2) / 153)
  local day, month = day_of_year - floor((153 * month_from_march + 2) / 5) + 1, (month_from_march + 2) % 12 + 1
  local year = era * 400 + year_of_era + (month <= 2 and 1 or 0)
  local text = string.format('%04d-%02d-%02dT%02d:%02d:%02dZ', year, month, day, floor(second / 3600), floor(second / 60) % 60, second % 60)
  instant_texts[instant] = text
  return text
end

-- Adds a line to the history: `fired`, `run NONCE`, or why the instant was skipped.
local function remember(plan, instant, what)
  if plan.lines < HISTORY_MAX then
    plan.lines = plan.lines + 1
  elseif plan.history_at <= #plan.text then
    plan.history_at = (string.find(plan.text, '\n', plan.history_at, true) or #plan.text) + 1
  else
    plan.added = string.sub(plan.added, (string.find(plan.added, '\n', 1, true) or 0) + 1)
  end
  plan.added = string.format('%s%d %d %s\n', plan.added, instant / 1000, now, what)
end

local function unique_key_of(definition)
  -- Most have none, and a plain search is faster. The first line is always another one.
  return string.find(definition.spec, '\n' .. UNIQUE_KEY, 1, true) and string.match(definition.spec, '\n' .. UNIQUE_KEY .. '([^\n]*)')
end

local free_ids = {} -- ids that were found free at once
local expired_tombstone -- of an id that find_existing found free: removed when a job gets the id

-- The reply about the job that has this id or, failing that, this unique key.
local function find_existing(id, key)
  if free_ids[id] and not key then
    return nil
  end
  write_all()
  local state = state_of(id)
  if state then
    return DUPLICATE .. state .. ' ' .. id
  end
  local tombstone = redis.call('HGET', k_tombstones, id)
  if tombstone then
    local reply = remembered(id, tombstone)
    if reply then
      return reply
    end
    expired_tombstone = id
  end
  local holder = key and redis.call('HGET', k_unique, key)
  state = holder and state_of(holder)
  if state then
    return DUPLICATE .. state .. ' ' .. holder
  end
  return key and remembered_key(key)
end

-- Applies the overlap policy to the jobs that have not ended. Returns whether there is room for another one.
local function make_room(plan, overlap)
  if not plan.current or overlap == 'allow' then
    return true
  elseif overlap == 'skip' or (overlap == 'buffer' and plan.waiting) then
    return false
  elseif overlap == 'cancel' then
    write_all()
    if plan.waiting then
      cancel(plan.waiting, state_of(plan.waiting), load_opts(plan.waiting))
    end
    cancel(plan.current, state_of(plan.current), load_opts(plan.current))
  end
  return true
end

-- The opts of the job for an instant, and when it is due.
local function opts_at(plan, definition, instant)
  local opts = decode_opts(definition.spec)
  local function from_instant(text)
    return math.max(now, instant + tonumber(string.sub(text, 2)))
  end
  local headers = opts[HEADERS] and opts[HEADERS] .. '\t' or opts[IS_JSON] and 'content-type\tapplication/json\t' or ''
  opts[HEADERS] = headers .. 'windlass-schedule\t' .. plan.name .. '\twindlass-instant\t' .. instant_text(instant)
  opts[IS_JSON] = nil
  opts[IS_SCHEDULED], opts[ENQUEUED_AT] = '', string.format('%d', now)
  opts[EXPIRES_AT] = opts[EXPIRES_AT] and digits(from_instant(opts[EXPIRES_AT]))
  opts[DEADLINE] = opts[DEADLINE] and digits(from_instant(opts[DEADLINE]))
  local due = opts[DUE_AT] and from_instant(opts[DUE_AT]) or math.max(now, instant)
  opts[DUE_AT] = nil
  return opts, due
end

-- Enqueues a job that does not exist. Without `overlap` it does not count as the current job. Returns its state, or nil if
-- the overlap policy does not allow it. The caller saves the plan and writes the batch.
local function enqueue_scheduled(plan, definition, instant, id, overlap)
  if overlap and not make_room(plan, overlap) then
    return nil
  end
  local opts, due = opts_at(plan, definition, instant)
  if expired_tombstone == id then
    drop_tombstone(id)
  end
  write_later('HSET', k_jobs, id, definition.value)
  if opts[UNIQUE_KEY] then
    write_later('HSET', k_unique, opts[UNIQUE_KEY], id)
    drop_tombstone(HELD_KEY .. opts[UNIQUE_KEY])
  end
  local state = due > now and 'scheduled' or 'ready'
  if overlap and overlap ~= 'allow' and plan.current then
    state, plan.waiting = 'pending', id
    opts[DUE_AT] = due > now and digits(due) or nil
    redis.call('ZADD', k_scheduled, PENDING_SCORE, id)
    index_expiry(id, opts)
    announce(id, state)
  else
    if opts[GROUP] then
      group_lib.start_groups()
      are_numbers_changed = true
    end
    if state == 'ready' and opts[GROUP] then
      add_ready(id, opts, false)
    elseif state == 'ready' then
      local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
      write_later('RPUSH', k_ready[priority], entry_of(id, opts))
      count_ready(id, opts, priority)
    else
      add_scheduled(id, opts, due)
    end
    if overlap and not plan.waiting then
      plan.current = id
    end
  end
  write_later('HSET', k_opts, id, encode_opts(opts))
  stats[BYTES] = stats[BYTES] + #definition.value - 1
  stats[TOTAL_ENQUEUED] = stats[TOTAL_ENQUEUED] + 1
  count(ENQUEUED_MINUTE, 1)
  return state
end
