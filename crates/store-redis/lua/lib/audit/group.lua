-- Checks of groups that may be damaged.
local LIMIT_MAX, PERIOD_LONGEST = 4294967295, 3153600000000000

local function is_limit(text, most)
  return text == DEFAULT_LIMIT or text == '-1' or is_number(text, most or LIMIT_MAX) and tonumber(text) > 0
end

local function is_rate(count, period)
  if count == DEFAULT_LIMIT or count == '-1' then
    return period == count
  end
  return is_limit(count) and is_number(period, PERIOD_LONGEST) and tonumber(period) >= tonumber(count)
end

local function is_where(text)
  return text == NOWHERE or text == RESTING or #text == 26 and string.find(text, '^%d+$')
end

-- Whether all parts of a record are valid. Returns the version of the limits too.
function group_lib.is_record(text)
  local where, numbers, version, max_running, count, period, burst =
    string.match(text or '', '^(%S+) (%d+ %d+ %d+ %d+ %d+) [01] (%d+) (%S+) (%S+) (%S+) (%S+)$')
  local is_valid = where and is_where(where) and is_number(version) and is_limit(max_running) and is_rate(count, period)
    and burst ~= '-1' and is_limit(burst)
  for number in string.gmatch(numbers or '', '%d+') do
    is_valid = is_valid and is_number(number)
  end
  return is_valid, tonumber(version)
end

-- The number of members `GROUP TAB …` of a sorted set.
function group_lib.count_of(key, name)
  return redis.call('ZLEXCOUNT', key, '[' .. name .. '\t', '(' .. name .. '\n')
end

-- Counts the jobs of a group again. Returns a description of what was wrong, if anything was.
function group_lib.recount(group)
  group_lib.write_lines()
  local ready, slots = group_lib.count_of(k_lined, group.name), group_lib.count_of(k_working, group.name)
  if group.ready ~= ready or group.slots ~= slots then
    local counted = 'counted ' .. digits(group.ready) .. ' ready jobs and ' .. digits(group.slots) .. ' slots'
    group.ready, group.slots, touched[group.name] = ready, slots, group
    return group.name .. ': ' .. counted .. ', found ' .. digits(ready) .. ' and ' .. digits(slots)
  end
end

-- The group takes its turn after all others.
function group_lib.arrive(group)
  group_numbers[LAST_TURN] = group_numbers[LAST_TURN] + 1
  group.turn, touched[group.name] = group_numbers[LAST_TURN], group
end

-- Gives a job a slot of its group that it must hold.
function group_lib.restore_slot(id, opts)
  group_lib.start_groups()
  if redis.call('ZADD', k_working, 'NX', 0, opts[GROUP] .. '\t' .. id) == 1 then
    group_lib.recount(group_lib.touch_group(opts[GROUP]))
    report('slot_missing', id)
  end
end

-- Whether the place of a job in its line matches its opts.
function group_lib.is_place(place, opts, holds_slot)
  local priority, lane = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT), holds_slot and 0 or 1
  if rule(GROUP_SLOT) == SLOT_RUN then
    lane = 2 * priority + (is_suspect(opts) and 0 or 1)
  end
  return place == group_lib.place_of(string.format('%02d', lane) .. string.sub(place, 3, 18), priority, opts)
    and tonumber(string.sub(place, 3, 18)) <= 2 * LINE_MIDDLE
end

-- A ready job with a group must be in its line, in its lane.
function group_lib.check_line(id, opts)
  local place, holder = opts[IN_LINE] or '', opts[GROUP] .. '\t' .. id
  local member = opts[GROUP] .. '\t' .. place .. '\t' .. id
  local is_listed, is_lane = redis.call('ZSCORE', k_lined, member), rule(GROUP_SLOT) ~= SLOT_RUN
  if is_lane and is_listed and string.sub(place, 1, 2) == '00' then
    -- Its place proves that it holds a slot.
    group_lib.restore_slot(id, opts)
  end
  local holds_slot = is_lane and redis.call('ZSCORE', k_working, holder)
  if is_listed and group_lib.is_place(place, opts, holds_slot) then
    return
  end
  redis.call('ZREM', k_lined, member)
  local group = group_lib.touch_group(opts[GROUP])
  group.slots = math.max(group.slots, holds_slot and 1 or 0)
  add_to_lane(id, opts)
  -- The numbers of all groups counted it as ready before.
  local at = GROUPED_READY + tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
  group_numbers[at] = math.max(0, group_numbers[at] - 1)
  group_lib.recount(group)
  report(is_listed and 'entry_wrong' or 'not_listed', id, is_listed and 'line of group ' .. group.name or nil)
end
