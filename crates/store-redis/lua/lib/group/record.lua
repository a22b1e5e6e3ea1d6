-- Groups: their lines of ready jobs, slots and turns. Only claims check limits: a job that may not start stays ready. A
-- call collects the groups that it changes, and writes each of them once.
if uses_groups then
  check_group_types()
end
local group_lib = {} -- the functions of this file: a script may have 200 locals
local groups, touched = {}, {} -- by name: all that this call has read, and those that it changed
local added_to_lines = {} -- not written yet
local are_numbers_changed = false

-- Counts the jobs with a group from now on.
function group_lib.start_groups()
  if not uses_groups then
    check_group_types()
    for i = 1, GROUP_NUMBERS do
      group_numbers[i] = 0
    end
    uses_groups, is_dirty, stats[SCHEMA] = true, true, GROUPS_SCHEMA
  end
end

-- An empty queue does not use groups any more: the fast scripts may work again.
function group_lib.stop_groups()
  if not uses_groups or next(touched) or redis.call('HLEN', k_groups) > 0 then
    return
  end
  -- The field with an empty name is no job.
  if redis.call('HLEN', k_jobs) - redis.call('HEXISTS', k_jobs, '') == 0 then
    redis.call('HDEL', k_state, GROUPS_FIELD)
    uses_groups, are_numbers_changed, is_dirty, stats[SCHEMA] = false, false, true, SCHEMA_VERSION
  end
end

-- How many slots a group may use; below 0: no limit.
function group_lib.max_running_of(group)
  local max = group.max_running or rule(GROUP_MAX_RUNNING)
  return max < 0 and not group.max_running and rule(GROUP_SLOT) ~= SLOT_RUN and 1 or max
end

-- The rate of a group: see `gcra`, and the period. Returns nil if it has none.
function group_lib.rate_of(group)
  local count, period = group.rate_count or rule(GROUP_RATE_COUNT), group.rate_period or rule(GROUP_RATE_PERIOD)
  if count < 0 then
    return nil
  end
  local interval, tolerance = gcra(count, period, group.burst or rule(GROUP_BURST))
  return interval, tolerance, period
end

-- Follows a clock that was set back at a time, or other limits since then.
function group_lib.cut_rate_of(group, at_us)
  local _, tolerance, period = group_lib.rate_of(group)
  group.rate_next = period and math.min(group.rate_next, at_us + period + tolerance) or 0
end

local GROUP_RECORD = '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) ([01]) (%d+) (%S+) (%S+) (%S+) (%S+)$'
function group_lib.decode_group(name, text)
  local where, turn, ready, slots, rate_next, rest, paused, version, max_running, rate_count, rate_period, burst =
    string.match(text or '', GROUP_RECORD)
  local group = {
    name = name,
    where = where or NOWHERE, -- or its key in `turns`, or RESTING
    turn = tonumber(turn or 0),
    ready = tonumber(ready or 0),
    slots = tonumber(slots or 0),
    rate_next = tonumber(rate_next or 0), -- us
    rest_until = tonumber(rest or 0), -- ms
    is_paused = paused == '1',
    max_running = tonumber(max_running), -- nil: as the queue says; below 0: none
    rate_count = tonumber(rate_count),
    rate_period = tonumber(rate_period),
    burst = tonumber(burst),
    is_stored = where ~= nil,
  }
  if group.ready > 0 and tonumber(version) ~= group_numbers[LIMITS_VERSION] then
    group_lib.cut_rate_of(group, group_numbers[LIMITS_CHANGED])
  end
  return group
end

function group_lib.limit_text(limit)
  return limit and digits(limit) or DEFAULT_LIMIT
end

function group_lib.encode_group(group)
  return table.concat({
    group.where, digits(group.turn), digits(group.ready), digits(group.slots), digits(group.rate_next), digits(group.rest_until),
    group.is_paused and '1' or '0', digits(group_numbers[LIMITS_VERSION]),
    group_lib.limit_text(group.max_running), group_lib.limit_text(group.rate_count), group_lib.limit_text(group.rate_period), group_lib.limit_text(group.burst),
  }, ' ')
end

-- Reads groups at once that will be needed.
function group_lib.load_groups(names)
  local missing = {}
  for i = 1, #names do
    if not groups[names[i]] then
      missing[#missing + 1] = names[i]
    end
  end
  local texts = #missing > 0 and redis.call('HMGET', k_groups, unpack(missing)) or {}
  for i = 1, #missing do
    groups[missing[i]] = group_lib.decode_group(missing[i], texts[i])
  end
end

-- A group that this call changes.
function group_lib.touch_group(name)
  local group = groups[name] or group_lib.decode_group(name, redis.call('HGET', k_groups, name))
  groups[name], touched[name] = group, group
  return group
end
