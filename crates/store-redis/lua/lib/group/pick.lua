-- Picks jobs in a queue that uses groups, one job per turn. The jobs without a group are one more group.
do -- a script may have 200 locals at a time
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
    local is_open = not group.is_paused and group_lib.opening_of(group) - now_us <= 0 and group_lib.has_slot(group, holds_slot)
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
    local id, place, member = group_lib.first_job(turn, seen, max - #taken)
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
      group_lib.take_from_line(turn, priority, member, seen)
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
      group_lib.take_from_line(turn, priority, member, seen)
      take_turn(turn, id, holds_slot, request, seen)
      taken[#taken + 1] = { id = id, group = turn.name, value = value, bytes = bytes, encoded_opts = text or nil, priority = priority, is_suspect = is_suspect_job }
      is_changed, seen.is_over = true, is_suspect_job
    end
    group_lib.wait_again(waiting, turn, seen, max - #taken)
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
        group_lib.read_turns(waiting, seen, max - #taken)
      end
      local ungrouped, first = ungrouped_turn(request, seen), waiting[1]
      if ungrouped and not (first and group_lib.is_turn_before(first, ungrouped)) then
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
