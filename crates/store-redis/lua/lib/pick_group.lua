-- Picks jobs in a queue that uses groups: one job per turn, from the group whose first job has the most urgent priority, then
-- the fewest slots in use, then the longest time since its last turn. The jobs without a group are one more group.
do -- a script may have 200 locals at a time
  -- Whether a group has its turn before another one.
  local function is_turn_before(a, b)
    if a.priority ~= b.priority then
      return a.priority < b.priority
    elseif a.slots ~= b.slots then
      return a.slots < b.slots
    end
    return a.turn < b.turn
  end

  -- Adds a group to those that wait for their turn, in order.
  local function insert_turn(waiting, turn)
    local low, high = 1, #waiting + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if is_turn_before(waiting[middle], turn) then
        low = middle + 1
      else
        high = middle
      end
    end
    table.insert(waiting, low, turn)
  end

  -- Reads the next groups in order, so that there are enough for `room` jobs.
  local function read_turns(waiting, seen, room)
    local members = redis.call('ZRANGE', k_turns, seen.turns, seen.turns + room - 1)
    seen.turns, seen.is_last = seen.turns + #members, #members < room
    local names = {}
    for i = 1, #members do
      local priority, slots, turn, name = string.match(members[i], '^(%d)(%d%d%d%d%d%d%d%d%d)(%d+)\t(.*)$')
      names[i] = name
      insert_turn(waiting, { name = name, priority = tonumber(priority), slots = tonumber(slots), turn = tonumber(turn), is_fresh = true })
    end
    seen.fresh = seen.fresh + #members
    group_lib.load_groups(names)
  end

  -- The first job of a group that this call has not taken: its id, its place, and its member in `lined`.
  local function first_job(turn, seen, room)
    local group = groups[turn.name]
    if not turn.jobs or turn.at > #turn.jobs then
      -- Those that were taken are still in the line.
      turn.read = turn.read or 0
      turn.jobs = group_lib.jobs_in_line(group, turn.read, math.max(1, math.ceil(room / math.max(1, seen.fresh))))
      turn.read, turn.at = turn.read + #turn.jobs, 1
    end
    local member = turn.jobs[turn.at]
    if member then
      local place, id = string.match(member, '\t(%d+)\t(.*)$')
      return id, place, member
    end
  end

  -- Removes the first job of a group from the line, at the end of the claim.
  local function take_from_line(turn, priority, member, seen)
    turn.at = turn.at + 1
    seen.unlined[#seen.unlined + 1] = member
    group_lib.leave_line(groups[turn.name], priority)
  end

  -- The next job of a group decides about its next turn.
  local function wait_again(waiting, turn, seen, room)
    local group = groups[turn.name]
    local _, place = nil, nil
    if room > 0 then
      _, place = first_job(turn, seen, room)
    end
    local holds_slot, priority = group_lib.read_place(place or string.rep('0', 20))
    if place and group_lib.opening_of(group) <= now_us and group_lib.has_slot(group, holds_slot) then
      turn.priority, turn.slots, turn.turn = priority, group.slots, group.turn
      insert_turn(waiting, turn)
    end
  end

  -- Counts a job as a turn of its group.
  local function take_turn(turn, id, holds_slot, request, seen)
    local group = groups[turn.name]
    group_numbers[LAST_TURN] = group_numbers[LAST_TURN] + 1
    group.turn = group_numbers[LAST_TURN]
    local interval = group_lib.rate_of(group)
    if interval then
      group.rate_next = math.max(group.rate_next, now_us) + interval
    end
    group.slots = group.slots + (holds_slot and 0 or 1)
    if request.mode == AT_MOST_ONCE then
      -- It is final when claimed: it has a slot only until then.
      seen.passing[#seen.passing + 1] = group
      return
    end
    group_numbers[GROUPED_RUNNING] = group_numbers[GROUPED_RUNNING] + 1
    if not holds_slot then
      seen.holders[#seen.holders + 1], seen.holders[#seen.holders + 2] = 0, turn.name .. '\t' .. id
    end
  end

  -- Whether this claim may take the first job of a group.
  local function may_take(group, place, request, seen)
    local holds_slot, _, is_suspect_job = group_lib.read_place(place)
    if is_suspect_job and seen.may_pick_suspect == nil then
      seen.may_pick_suspect = may_pick_suspect(request)
    end
    local is_countable = request.mode ~= AT_MOST_ONCE or group_lib.max_running_of(group) < 0
    local is_open = not group.is_paused and group_lib.opening_of(group) <= now_us and group_lib.has_slot(group, holds_slot)
    if not is_open then
      touched[group.name] = group -- it is placed again
    end
    return is_countable and is_open and (not is_suspect_job or seen.may_pick_suspect)
  end

  -- Handles the group whose turn it is. Sets `seen.is_over` if nothing more may be taken.
  local function pick_from_group(waiting, taken, max, request, seen)
    local turn = table.remove(waiting, 1)
    local group = groups[turn.name]
    if turn.is_fresh then
      turn.is_fresh, seen.fresh = false, seen.fresh - 1
    end
    local id, place, member = first_job(turn, seen, max - #taken)
    if not id or not may_take(group, place, request, seen) then
      seen.examined = seen.examined + 1
      return
    end
    local holds_slot, priority, is_suspect_job = group_lib.read_place(place)
    if is_suspect_job and #taken > 0 then
      seen.is_over = true
      return
    end
    local text, value = redis.call('HGET', k_opts, id), redis.call('HGET', k_jobs, id) or '\n'
    local bytes = #value - header_length(value)
    if is_expired(text) then
      take_from_line(turn, priority, member, seen)
      redis.call('ZREM', k_expiring, id)
      end_dead(id, decode_opts(text), bytes, nil, 'expired')
      seen.skipped, is_changed = seen.skipped + 1, true
      seen.is_over = seen.skipped >= PAGE
    else
      seen.bytes = seen.bytes + bytes
      if seen.bytes > CLAIM_BYTES_MAX and #taken > 0 then
        seen.is_over = true
        return
      end
      take_from_line(turn, priority, member, seen)
      take_turn(turn, id, holds_slot, request, seen)
      taken[#taken + 1] = { id = id, value = value, bytes = bytes, encoded_opts = text or nil, priority = priority, is_suspect = is_suspect_job }
      is_changed, seen.is_over = true, is_suspect_job
    end
    wait_again(waiting, turn, seen, max - #taken)
  end

  -- The turn of the jobs without a group, if this claim may take one of them.
  local function ungrouped_turn(request, seen)
    for priority = 0, PRIORITY_LAST do
      if stats[READY + priority] > 0 and seen.dry ~= priority then
        local suspects = seen.any_suspects and redis.call('ZCOUNT', k_suspects, priority * SUSPECT_LANE, '(' .. digits((priority + 1) * SUSPECT_LANE)) or 0
        if suspects > 0 and seen.may_pick_suspect == nil then
          seen.may_pick_suspect = may_pick_suspect(request)
        end
        if stats[READY + priority] - suspects > 0 or (suspects > 0 and seen.may_pick_suspect) then
          return { priority = priority, slots = seen.ungrouped_slots, turn = group_numbers[UNGROUPED_TURN] }
        end
      end
    end
  end

  -- Takes the jobs without a group of one priority for which it is their turn before that of the next group.
  local function pick_ungrouped(turn, other, taken, max, request, seen)
    local before, skipped, most = #taken, seen.skipped, max
    if other and other.priority == turn.priority then
      most = math.min(max, #taken + math.max(1, other.slots - turn.slots))
    end
    local result = seen.any_suspects and 'expired' or 'none'
    while result == 'expired' and seen.skipped < PAGE do
      result = pick_suspect(turn.priority, taken, request, seen)
    end
    if result == 'taken' or result == 'ahead' or seen.skipped >= PAGE then
      seen.is_over = true
    else
      pick_from_list(turn.priority, taken, most, seen)
    end
    local picked = #taken - before
    if picked > 0 then
      group_numbers[LAST_TURN] = group_numbers[LAST_TURN] + picked
      group_numbers[UNGROUPED_TURN] = group_numbers[LAST_TURN]
      seen.ungrouped_slots, are_numbers_changed = seen.ungrouped_slots + picked, true
    elseif seen.skipped == skipped then
      -- The stats are wrong, which an audit repairs.
      seen.dry = turn.priority
    end
  end

  pick_in_turn = function(request, seen)
    local taken, waiting, max = {}, {}, math.min(request.max, CLAIM_MAX)
    local is_partial = group_lib.settle_groups()
    seen.turns, seen.fresh, seen.is_last, seen.examined, seen.unlined, seen.holders, seen.passing = 0, 0, false, 0, {}, {}, {}
    seen.any_suspects = has_suspects()
    seen.ungrouped_slots = redis.call('HLEN', k_running) - redis.call('HEXISTS', k_running, '') - group_numbers[GROUPED_RUNNING]
    while #taken < max and not seen.is_over and not seen.again do
      if seen.fresh == 0 and not seen.is_last then
        read_turns(waiting, seen, max - #taken)
      end
      local ungrouped, first = ungrouped_turn(request, seen), waiting[1]
      if ungrouped and not (first and is_turn_before(first, ungrouped)) then
        pick_ungrouped(ungrouped, first, taken, max, request, seen)
      elseif first then
        pick_from_group(waiting, taken, max, request, seen)
        if seen.examined >= GROUPS_PER_CALL then
          seen.again = CLAIM_AGAIN
        end
      elseif seen.is_last then
        break
      end
    end
    if #seen.unlined > 0 then
      redis.call('ZREM', k_lined, unpack(seen.unlined))
    end
    if #seen.holders > 0 then
      redis.call('ZADD', k_working, unpack(seen.holders))
    end
    for i = 1, #seen.passing do
      seen.passing[i].slots = seen.passing[i].slots - 1
    end
    if is_partial then
      seen.again = CLAIM_AGAIN
    end
    return taken
  end
end
