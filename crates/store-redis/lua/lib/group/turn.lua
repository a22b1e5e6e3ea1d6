-- The groups that wait for their turn in a claim: first the one whose first job has the most urgent priority, then the one
-- with the fewest slots in use, then the one whose last turn was longest ago.

-- Whether a group has its turn before another one.
function group_lib.is_turn_before(a, b)
  local by = a.priority - b.priority
  by = by ~= 0 and by or a.slots - b.slots
  by = by ~= 0 and by or a.turn - b.turn
  return by < 0
end

-- Adds a group to those that wait for their turn, in order.
function group_lib.insert_turn(waiting, turn)
  local low, high = 1, #waiting + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if group_lib.is_turn_before(waiting[middle], turn) then
      low = middle + 1
    else
      high = middle
    end
  end
  table.insert(waiting, low, turn)
end

-- Reads the next groups in order, so that there are enough for `room` jobs.
function group_lib.read_turns(waiting, seen, room)
  local members = redis.call('ZRANGE', k_turns, seen.turns, seen.turns + room - 1)
  seen.turns, seen.is_last = seen.turns + #members, #members < room
  local names = {}
  for i = 1, #members do
    local priority, slots, turn, name = string.match(members[i], '^(%d)(%d%d%d%d%d%d%d%d%d)(%d+)\t(.*)$')
    names[i] = name
    group_lib.insert_turn(waiting, { name = name, priority = tonumber(priority), slots = tonumber(slots), turn = tonumber(turn), is_fresh = true })
  end
  seen.fresh = seen.fresh + #members
  group_lib.load_groups(names)
end

-- The first job of a group that this call has not taken: its id, its place, and its member in `lined`.
function group_lib.first_job(turn, seen, room)
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
function group_lib.take_from_line(turn, priority, member, seen)
  turn.at = turn.at + 1
  seen.unlined[#seen.unlined + 1] = member
  group_lib.leave_line(groups[turn.name], priority)
end

-- The next job of a group decides about its next turn.
function group_lib.wait_again(waiting, turn, seen, room)
  local group = groups[turn.name]
  local _, place = nil, nil
  if room > 0 then
    _, place = group_lib.first_job(turn, seen, room)
  end
  local holds_slot, priority = group_lib.read_place(place or string.rep('0', 20))
  if place and group_lib.opening_of(group) - now_us <= 0 and group_lib.has_slot(group, holds_slot) then
    turn.priority, turn.slots, turn.turn = priority, group.slots, group.turn
    group_lib.insert_turn(waiting, turn)
  end
end
