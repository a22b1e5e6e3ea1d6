-- The claim of fast/group_complete: one job per turn. An entry with a TAB, or a value without its place in the line, has a job that
-- needs more care.
if claimer then
  token = format('%d', math.max(now_us, stats[LAST_TOKEN] + 1)) .. '-' .. ARGV[at + 2]
  local suffix = (ARGV[at + 5] == DISPATCH and '\t' .. NOT_ACCEPTED) or (ARGV[at + 6] ~= '' and '\t') or ''
  suffix = ARGV[at + 6] == '' and suffix or suffix .. '\t' .. ARGV[at + 6]
  local again, again_groups, next_key, next_again = {}, {}, 1, 1 -- groups that had a turn, in order
  local places, owners, priorities = {}, {}, {}
  while found < max do
    local key, other, group = keys[next_key], again[next_again], nil
    if other and not (key and key - other < 0) then
      group, next_again = again_groups[next_again], next_again + 1
    elseif key then
      group, next_key = by_key[key], next_key + 1
    else
      break
    end
    local name, priority, may_start = group.name, group.head, true
    last_turn, found = last_turn + 1, found + 1
    if group == ungrouped then
      if not group.line[group.at] then
        group.line, group.at = call('LRANGE', k_ready[priority], 0, max - found), 1
      end
      local entry = group.line[group.at]
      if not entry or find(entry, '\t', 1, true) then
        return 'full'
      end
      ids[found], places[found] = entry, false
      lanes[priority], group.at = group.at, group.at + 1
      if lanes[priority] >= stats[READY + priority] then
        group.head, group.at, may_start = PRIORITY_LAST + 1, 1, false
        for other_priority = priority + 1, PRIORITY_LAST do
          if stats[READY + other_priority] > 0 and not may_start then
            group.head, group.line, may_start = other_priority, {}, true
          end
        end
      end
    else
      local line, position, length = group.line, group.at or 1, #name
      if not line then
        local each = math.ceil((max - found + 1) / math.max(1, #keys - next_key + 2))
        if not read_line(group, each + 1) then
          return 'full'
        end
        line = group.line
      end
      local member = line[position]
      if byte(member, length + 21) ~= ZERO then
        return 'full' -- a suspect
      end
      priority = byte(member, length + 20) - ZERO
      ids[found], places[found] = sub(member, length + 23), sub(member, length + 2, length + 21)
      taken[#taken + 1] = member
      numbers[GROUPED_READY + priority] = numbers[GROUPED_READY + priority] - 1
      local ready, limit = group.ready - 1, group.limits
      group.at, group.ready = position + 1, ready
      if limit.interval then
        group.rate_next = math.max(group.rate_next, now_us) + limit.interval
      end
      if ready > 0 then
        if not line[position + 1] then
          local had = group.turn_count or 1
          if not read_line(group, had + 1) then
            return 'full'
          end
          group.turn_count, line = 2 * had, group.line
        end
        group.head = byte(line[position + 1], length + 20) - ZERO
      end
      may_start = ready > 0 and group.slots + 1 < limit.max and (not limit.interval or group.rate_next - limit.tolerance <= now_us)
      change(group)
    end
    owners[found], priorities[found] = name, priority
    group.slots, group.turn = group.slots + 1, last_turn
    if may_start then
      -- Mostly it has its turn after all others.
      key = group.head * PRIORITY_UNIT + group.slots * SLOTS_UNIT + found + TURNS_BACK
      local place = #again + 1
      while place - next_again > 0 and again[place - 1] - key > 0 do
        again[place], again_groups[place] = again[place - 1], again_groups[place - 1]
        place = place - 1
      end
      again[place], again_groups[place] = key, group
    end
  end

  local stored_values = found > 0 and call('HMGET', k_jobs, unpack(ids)) or {}
  local facts = {} -- starts of leases: built once per length and priority
  for i = 1, found do
    local value, place, name, priority = stored_values[i] or '', places[i], owners[i], priorities[i]
    local header, header_end = find(value, '\n\n', 1, true)
    if byte(value) == LINE_FEED then
      header, header_end = 0, 1
    end
    local in_line = place and find(value, '\n' .. IN_LINE .. place .. '\n', 1, true)
    if not header or (place and not (in_line and in_line - header < 0)) or byte(value) == NEEDS_CARE then
      return 'full'
    end
    local length = #value - header_end
    room = room - length
    local fact = length * 16 + priority
    facts[fact] = facts[fact] or token .. '\t' .. priority .. VALUE_ONLY .. length .. ' '
    values[i] = value
    leases[2 * i - 1], leases[2 * i] = ids[i], facts[fact] .. name .. suffix
    if place then
      grouped = grouped + 1
      new_slots[2 * grouped + 1], new_slots[2 * grouped + 2] = '0', name .. '\t' .. ids[i]
    end
  end
  text = table.concat(ids, '\n') .. '\n'
  wakeups = ARGV[at + 7] ~= '' and call('LLEN', k_wake)
  if room < 0 or (wakeups and found == 0) then
    return 'full'
  end
  if ungrouped and found - grouped > 0 then
    numbers[UNGROUPED_TURN] = format('%d', ungrouped.turn)
  end
end
work = math.max(0, work - found)
