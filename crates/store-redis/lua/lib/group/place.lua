-- Where groups wait: in `turns` if they may start a job, else in `resting`.

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
  if group_numbers[IS_STALE] == 1 and group_numbers[HAS_RECHECK] == 0 then
    -- Claims check the groups in `turns`; those that rest are placed again, page by page. Those of an earlier change first.
    local waiting = redis.call('ZRANGE', k_turns, 0, GROUPS_PER_CALL - 1)
    for i = 1, #waiting do
      waiting[i] = string.match(waiting[i], '\t(.*)$')
    end
    group_lib.touch_groups(waiting)
    if redis.call('ZCARD', k_resting) > 0 then
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
  return is_partial or group_numbers[IS_STALE] == 1 or #due == GROUPS_PER_CALL
end
