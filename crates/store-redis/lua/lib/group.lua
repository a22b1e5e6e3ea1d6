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

function group_lib.write_lines()
  if #added_to_lines > 0 then
    redis.call('ZADD', k_lined, unpack(added_to_lines))
    added_to_lines = {}
  end
end

-- Up to `count` jobs of a line after the first `from`, as members of `lined`.
function group_lib.jobs_in_line(group, from, count)
  return redis.call('ZRANGEBYLEX', k_lined, '[' .. group.name .. '\t', '(' .. group.name .. '\n', 'LIMIT', from, count)
end

-- Splits the place of a job in a line: whether it already holds a slot, its priority, and whether it is suspect.
function group_lib.read_place(place)
  local holds_slot = rule(GROUP_SLOT) ~= SLOT_RUN and string.sub(place, 1, 2) == '00'
  return holds_slot, tonumber(string.sub(place, 19, 19)), string.sub(place, 20, 20) == '1'
end

function group_lib.place_of(lane, priority, opts)
  return string.format('%s%d%d', lane, priority, is_suspect(opts) and 1 or 0)
end

-- Adds a job to the line of its group. The caller saves the opts.
function group_lib.add_to_line(id, opts, at_front)
  group_lib.start_groups()
  local group = group_lib.touch_group(opts[GROUP])
  local priority, lane = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT), nil
  if rule(GROUP_SLOT) == SLOT_RUN then
    lane = 2 * priority + (is_suspect(opts) and 0 or 1)
  else
    -- An ordered lane: a job that holds a slot comes first, and priorities do not count.
    lane = group.slots > 0 and redis.call('ZSCORE', k_working, group.name .. '\t' .. id) and 0 or 1
  end
  local last, by = at_front and LINE_FRONT or LINE_BACK, at_front and -1 or 1
  group_numbers[last] = group_numbers[last] + by
  opts[IN_LINE] = group_lib.place_of(string.format('%02d%016.0f', lane, group_numbers[last] + LINE_MIDDLE), priority, opts)
  added_to_lines[#added_to_lines + 1] = 0
  added_to_lines[#added_to_lines + 1] = group.name .. '\t' .. opts[IN_LINE] .. '\t' .. id
  if group.ready == 0 then
    -- It takes its turn after the groups that already wait.
    group_numbers[LAST_TURN] = group_numbers[LAST_TURN] + 1
    group.turn = group_numbers[LAST_TURN]
    group_lib.cut_rate_of(group, now_us)
  end
  group.ready = group.ready + 1
  group_numbers[GROUPED_READY + priority] = group_numbers[GROUPED_READY + priority] + 1
end

-- Counts a job that leaves its line.
function group_lib.leave_line(group, priority)
  touched[group.name] = group
  group.ready = group.ready - 1
  group_numbers[GROUPED_READY + priority] = group_numbers[GROUPED_READY + priority] - 1
end

function group_lib.remove_from_line(id, opts)
  group_lib.write_lines()
  redis.call('ZREM', k_lined, opts[GROUP] .. '\t' .. opts[IN_LINE] .. '\t' .. id)
  local _, priority = group_lib.read_place(opts[IN_LINE])
  group_lib.leave_line(group_lib.touch_group(opts[GROUP]), priority)
end

-- Leaves a job where it is in its line, with other opts.
function group_lib.change_in_line(id, opts, before)
  opts[IN_LINE] = before[IN_LINE]
  local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
  local place = group_lib.place_of(string.sub(before[IN_LINE], 1, 18), priority, opts)
  if place ~= before[IN_LINE] then
    group_lib.remove_from_line(id, before)
    redis.call('ZADD', k_lined, 0, opts[GROUP] .. '\t' .. place .. '\t' .. id)
    opts[IN_LINE] = place
    local group = group_lib.touch_group(opts[GROUP])
    group.ready = group.ready + 1
    group_numbers[GROUPED_READY + priority] = group_numbers[GROUPED_READY + priority] + 1
  end
end

-- Leaves the slot of a job, if it holds one, to others.
function group_lib.leave_slot(id, opts)
  if redis.call('ZREM', k_working, opts[GROUP] .. '\t' .. id) == 1 then
    local group = group_lib.touch_group(opts[GROUP])
    group.slots = group.slots - 1
    if group.ready > 0 then
      work = work + 1
    end
  end
end

-- Counts a job with a group that does not run any more.
function group_lib.leave_run(id, opts)
  group_numbers[GROUPED_RUNNING] = group_numbers[GROUPED_RUNNING] - 1
  are_numbers_changed = true
  if rule(GROUP_SLOT) == SLOT_RUN then
    group_lib.leave_slot(id, opts)
  end
end

-- Leaves the slot of a job that ended.
function group_lib.leave_slot_at_end(id, opts, state)
  if rule(GROUP_SLOT) ~= SLOT_RUN and not (rule(GROUP_SLOT) == SLOT_SUCCESS and state == 'dead') then
    group_lib.leave_slot(id, opts)
  end
end

-- From when a group may start jobs (us), as far as time decides.
function group_lib.opening_of(group)
  local _, tolerance = group_lib.rate_of(group)
  return math.max(group.rest_until * 1000, tolerance and group.rate_next - tolerance or 0)
end

-- Whether there is a slot for the first job of a group. One that holds a slot needs no other.
function group_lib.has_slot(group, holds_slot)
  local max = group_lib.max_running_of(group)
  return holds_slot or max < 0 or group.slots < max
end

-- Where a group belongs: its key in `turns`; or RESTING with a score; or nil if nothing is left of it. The score is the
-- time at which it may start again (us), `inf` while it is full or paused, and below 0 if it has no jobs and is dropped then.
function group_lib.placement(group)
  local first = group.ready > 0 and group_lib.jobs_in_line(group, 0, 1)[1]
  if first then
    local holds_slot, priority = group_lib.read_place(string.match(first, '\t(%d+)\t'))
    local opens = group_lib.opening_of(group)
    if group.is_paused then
      return RESTING, 'inf'
    elseif opens - now_us > 0 then
      return RESTING, digits(opens)
    elseif not group_lib.has_slot(group, holds_slot) then
      return RESTING, 'inf'
    end
    return string.format('%d%09d%016.0f', priority, group.slots, group.turn)
  end
  if group.slots > 0 or group.is_paused or group.max_running or group.rate_count or group.burst then
    return NOWHERE
  end
  local ends = math.max(group.rest_until * 1000, group_lib.rate_of(group) and group.rate_next or 0)
  if ends - now_us > 0 then
    return RESTING, '-' .. digits(ends)
  end
end

-- Writes the groups that this call changed.
write_groups = function()
  if not next(touched) and not are_numbers_changed then
    return
  end
  group_lib.write_lines()
  local set, new, dropped, turns, turns_over, rested, resting = {}, {}, {}, {}, {}, {}, {}
  for name, group in pairs(touched) do
    local where, score = group_lib.placement(group)
    if group.where == RESTING and where ~= RESTING then
      rested[#rested + 1] = name
    elseif group.where ~= RESTING and group.where ~= NOWHERE and group.where ~= where then
      turns_over[#turns_over + 1] = group.where .. '\t' .. name
    end
    if where == RESTING then
      resting[#resting + 1], resting[#resting + 2] = score, name
    elseif where and where ~= NOWHERE and where ~= group.where then
      turns[#turns + 1], turns[#turns + 2] = 0, where .. '\t' .. name
    end
    if where then
      if not group.is_stored then
        new[#new + 1], new[#new + 2] = 0, name
      end
      group.where, group.is_stored = where, true
      set[#set + 1], set[#set + 2] = name, group_lib.encode_group(group)
    elseif group.is_stored then
      dropped[#dropped + 1] = name
    end
    if not where then
      groups[name] = nil
    end
  end
  local writes = {
    'ZREM', k_turns, turns_over, 'ZADD', k_turns, turns, 'ZREM', k_resting, rested, 'ZADD', k_resting, resting,
    'HSET', k_groups, set, 'ZADD', k_group_names, new, 'HDEL', k_groups, dropped, 'ZREM', k_group_names, dropped,
  }
  for i = 1, #writes, 3 do
    if #writes[i + 2] > 0 then
      redis.call(writes[i], writes[i + 1], unpack(writes[i + 2]))
    end
  end
  if group_numbers[HAS_RECHECK] == 1 then
    for name in pairs(touched) do
      redis.call('ZREM', k_recheck, name)
    end
  end
  write_group_numbers()
  touched, are_numbers_changed = {}, false
end

function group_lib.touch_groups(names)
  group_lib.load_groups(names)
  for i = 1, #names do
    group_lib.touch_group(names[i])
  end
end

-- Places groups again whose time has come, or for which limits or the clock have changed. Returns whether more may be left.
function group_lib.settle_groups()
  if not uses_groups then
    return false
  end
  if group_numbers[IS_STALE] == 1 then
    -- Claims check the groups in `turns`; those that rest are placed again, page by page.
    local waiting = redis.call('ZRANGE', k_turns, 0, GROUPS_PER_CALL - 1)
    for i = 1, #waiting do
      waiting[i] = string.match(waiting[i], '\t(.*)$')
    end
    group_lib.touch_groups(waiting)
    if group_numbers[HAS_RECHECK] == 1 then
      redis.call('ZUNIONSTORE', k_recheck, 2, k_recheck, k_resting)
      redis.call('UNLINK', k_resting)
    elseif redis.call('ZCARD', k_resting) > 0 then
      redis.call('RENAME', k_resting, k_recheck)
    end
    group_numbers[IS_STALE], group_numbers[HAS_RECHECK] = 0, 1
    write_group_numbers()
  end
  local is_partial = false
  if group_numbers[HAS_RECHECK] == 1 then
    local names = redis.call('ZRANGE', k_recheck, 0, GROUPS_PER_CALL - 1)
    group_lib.touch_groups(names)
    is_partial = #names == GROUPS_PER_CALL
    if not is_partial then
      redis.call('UNLINK', k_recheck)
      group_numbers[HAS_RECHECK] = 0
      write_group_numbers()
    end
  end
  local due = redis.call('ZRANGEBYSCORE', k_resting, '(0', digits(now_us), 'LIMIT', 0, GROUPS_PER_CALL)
  group_lib.touch_groups(due)
  group_lib.touch_groups(redis.call('ZRANGEBYSCORE', k_resting, '-' .. digits(now_us), 0, 'LIMIT', 0, GROUPS_PER_CALL))
  write_groups()
  return is_partial or #due == GROUPS_PER_CALL
end
