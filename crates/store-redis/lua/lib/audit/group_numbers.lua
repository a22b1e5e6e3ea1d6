-- Repairs the numbers of all groups together. Depends on no other part.

-- Numbers of all groups after which nothing stored can come: positions and turns grow by less than one per microsecond. The
-- rest of the audit corrects the counts, and groups are placed again.
local function new_group_numbers()
  local numbers = {}
  for i = 1, GROUP_NUMBERS do
    numbers[i] = 0
  end
  numbers[LIMITS_VERSION], numbers[LIMITS_CHANGED], numbers[IS_STALE] = clock_us, clock_us, 1
  numbers[LINE_FRONT], numbers[LINE_BACK], numbers[LAST_TURN] = -clock_us, clock_us, clock_us
  return numbers
end

-- Only positions at the front of lines are negative.
local function valid_group_numbers(text)
  local numbers, is_valid = {}, string.find(text, '^[%d%- ]+$')
  for word in string.gmatch(text, '%S+') do
    local number, at = tonumber(word) or NEVER, #numbers + 1
    is_valid = is_valid and math.abs(number) < NEVER and (at == LINE_FRONT and number <= 0 or at ~= LINE_FRONT and number >= 0)
    numbers[at] = number
  end
  is_valid = is_valid and #numbers == GROUP_NUMBERS and numbers[UNGROUPED_TURN] - numbers[LAST_TURN] <= 0
  return is_valid and numbers or nil
end

-- Returns the numbers as text if they must be rewritten, and whether the queue uses groups.
local function repaired_group_numbers()
  local text = redis.call('HGET', k_state, GROUPS_FIELD)
  local keys = redis.call('EXISTS', k_lined, k_working, k_turns, k_resting, k_recheck, k_groups, k_group_names)
  if not text and keys == 0 then
    return nil, false
  end
  local numbers = valid_group_numbers(text or '')
  local is_unknown = numbers and numbers[HAS_RECHECK] == 0 and redis.call('EXISTS', k_recheck) == 1
  if numbers and not is_unknown then
    return nil, true
  end
  numbers = numbers or new_group_numbers()
  numbers[HAS_RECHECK] = redis.call('EXISTS', k_recheck)
  for i = 1, GROUP_NUMBERS do
    numbers[i] = string.format('%.0f', numbers[i])
  end
  return table.concat(numbers, ' '), true
end
