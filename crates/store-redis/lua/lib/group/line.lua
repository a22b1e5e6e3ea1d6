-- The lines of ready jobs of groups, and the jobs that hold a slot.

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
