-- The groups that may have a turn in fast/group_complete, in order.
-- Groups have their turns by one number of the priority, the slots in use and the last turn.
local SLOTS_UNIT, SLOTS_MAX, PRIORITY_UNIT, TURNS_BACK = 4294967296, 131000, 562949953421312, 2147483648
-- The groups that change before the claim: those with free slots, and those whose time has come.
local at = last + 2
local claimer = ARGV[at + 7] and ARGV[at]
local work = 0
if claimer then
  local until_us = format('%d', now_us)
  local due = call('ZRANGEBYSCORE', k_resting, '-' .. until_us, until_us, 'LIMIT', 0, GROUPS_PER_CALL)
  for i = 1, #due do
    if not freed[due[i]] then
      names[#names + 1], freed[due[i]] = due[i], 0
    end
  end
  if #due == GROUPS_PER_CALL then
    return 'full'
  end
end
if names[1] and not load_groups(names) then
  return 'full'
end

-- Reads more jobs of a group. Returns nil if it has no more, although its record counts them.
local function read_line(group, count)
  local line = group.line or {}
  local more = call('ZRANGEBYLEX', k_lined, '[' .. group.name .. '\t', '(' .. group.name .. '\n', 'LIMIT', #line, count)
  for i = 1, line[1] and #more or 0 do
    line[#line + 1] = more[i]
  end
  group.line = line[1] and line or more
  return more[1]
end

local keys, by_key, last_turn = {}, {}, tonumber(numbers[LAST_TURN])
for i = 1, #names do
  local group = groups[names[i]]
  local slots = group.slots - freed[group.name]
  if not group.is_stored or slots < 0 or slots > SLOTS_MAX or last_turn - group.turn > TURNS_BACK then
    return 'full'
  end
  group.slots = slots
  change(group)
  if group.ready > 0 then
    work = work + freed[group.name]
    if group.where ~= RESTING then
      group.head = byte(group.where) - ZERO
    elseif not read_line(group, 2) then
      return 'full'
    else
      group.head = byte(group.line[1], #group.name + 20) - ZERO
    end
    if claimer and not group.limits.is_paused and slots < group.limits.max and opening_of(group) - now_us <= 0 then
      local key = group.head * PRIORITY_UNIT + slots * SLOTS_UNIT + group.turn - last_turn + TURNS_BACK
      keys[#keys + 1], by_key[key] = key, group
    end
  end
end

-- The claim, and the groups that may have a turn in it.
local record, ends = call('HGET', k_owners, claimer or ''), call('ZSCORE', k_leases, claimer or '')
local ids, values, leases, found = {}, {}, {}, 0
local token, text, seq, suspect, wakeups, interval, next_us
local taken, lanes = {}, {} -- members of lines; numbers of jobs without a group by priority
local grouped, new_slots = 0, { '0', LONG_MEMBER }
local max, room, ungrouped = 0, CLAIM_BYTES_MAX, nil
if claimer then
  local before
  before, suspect = match(record or '0\t\t\t\t', '^%d+\t(%d*)\t[^\t]*\t(.*)$')
  seq = claimer == '' and '0' or ARGV[at + 1]
  local is_repeated = not before or (before ~= '' and tonumber(seq) <= tonumber(before))
  max = math.min(tonumber(ARGV[at + 3]), CLAIM_MAX)
  if is_limited then -- as in fast/complete
    if ARGV[at + 7] ~= '' or #(stored[2] or '') < UNGROUPED_BYTES then
      return 'full'
    end
    local max_running, count, period, burst = struct.unpack('<dddd', stored[2], LIMITS_AT)
    if max_running >= 0 then
      max = math.min(max, max_running - call('HLEN', k_running) + call('HEXISTS', k_running, '') + total)
    end
    if count >= 0 then
      burst = math.max(1, math.min(burst, count))
      interval, next_us = math.ceil(period / (count - burst + 1)), math.max(tonumber(stored[4] or 0), now_us)
      max = math.min(max, math.floor(((burst - 1) * interval - next_us + now_us) / interval) + 1)
    end
  end
  local is_large = stats[BYTES] > room and stats[BYTES] / call('HLEN', k_jobs) * max > room
  if is_repeated or is_large or ARGV[at + 5] == AT_MOST_ONCE then
    return 'full'
  end

  -- The first groups in order, without those that change: so many that there are enough for all turns.
  local from, wanted = 0, max
  while wanted > 0 do
    local members, new = call('ZRANGE', k_turns, from, from + wanted - 1), {}
    for i = 1, #members do
      local name = sub(members[i], 28)
      if not groups[name] then
        new[#new + 1] = name
      end
    end
    if new[1] and not load_groups(new) then
      return 'full'
    end
    for i = 1, #new do
      local group = groups[new[i]]
      if group.where == RESTING or group.where == NOWHERE or group.slots > SLOTS_MAX or last_turn - group.turn > TURNS_BACK then
        return 'full'
      end
      group.head = byte(group.where) - ZERO
      local key = group.head * PRIORITY_UNIT + group.slots * SLOTS_UNIT + group.turn - last_turn + TURNS_BACK
      keys[#keys + 1], by_key[key] = key, group
    end
    from, wanted = from + #members, #members == wanted and wanted - #new or 0
  end
  for priority = 0, PRIORITY_LAST do
    if stats[READY + priority] > 0 then
      ungrouped = ungrouped or {
        head = priority, slots = call('HLEN', k_running) - call('HEXISTS', k_running, '') - total - numbers[GROUPED_RUNNING] + slots_freed,
        turn = tonumber(numbers[UNGROUPED_TURN]), line = {}, at = 1, name = '',
      }
    end
  end
  if ungrouped then
    if ungrouped.slots > SLOTS_MAX then
      return 'full'
    end
    local key = ungrouped.head * PRIORITY_UNIT + ungrouped.slots * SLOTS_UNIT + math.max(0, ungrouped.turn - last_turn + TURNS_BACK)
    keys[#keys + 1], by_key[key] = key, ungrouped
  end
  table.sort(keys, nil)
end
