-- Groups in the fast scripts: each record is read once and written once. lib/group has the same rules, and the reasons.
local call, format, match, byte, sub, find = redis.call, string.format, string.match, string.byte, string.sub, string.find
local groups, changed = {}, {} -- by name, all that were read; those that this call changed
local numbers, rules, limits = {}, nil, {} -- of all groups, as text; of groups by default; of a group by the end of its record
local now_us, now

-- Reads the numbers and limits of all groups. Returns whether a fast script may use them.
local function load_rules(stored_numbers, stored_rules)
  numbers = { match(stored_numbers or '', GROUP_NUMBERS_PATTERN) }
  rules = { -1, -1, -1, 1, SLOT_RUN }
  if stored_rules and #stored_rules == RULES_BYTES then
    rules = { struct.unpack('<ddddd', stored_rules, GROUP_LIMITS_AT) }
  end
  return numbers[IS_STALE] == '0' and numbers[HAS_RECHECK] == '0'
end

-- The limits of the groups whose records end alike. Returns nil if they were placed by other limits.
local function limits_of(text)
  local rest, paused, version, max, count, period, burst = match(text, '^(%d+) ([01]) (%d+) (%S+) (%S+) (%S+) (%S+)$')
  if version ~= numbers[LIMITS_VERSION] then
    return nil
  end
  local own_max, own_count, own_burst = tonumber(max), tonumber(count), tonumber(burst)
  max, count, period = own_max or rules[1], own_count or rules[2], tonumber(period) or rules[3]
  if max < 0 then
    max = not own_max and rules[5] ~= SLOT_RUN and 1 or NEVER
  end
  local found = { max = max, rest_us = rest * 1000, is_paused = paused == '1', period = 0 }
  found.is_kept = found.is_paused or own_max or own_count or own_burst
  if count >= 0 then
    burst = math.max(1, math.min(own_burst or rules[4], count))
    found.interval, found.period = math.ceil(period / (count - burst + 1)), period
    found.tolerance = (burst - 1) * found.interval
  end
  limits[text] = found
  return found
end

-- Reads groups by name. Returns false if one of them needs the full script.
local function load_groups(names)
  local texts = call('HMGET', k_groups, unpack(names))
  for i = 1, #names do
    local text = texts[i] or '- 0 0 0 0 0 0 ' .. numbers[LIMITS_VERSION] .. ' - - - -'
    local width = byte(text, 2) == SPACE and 1 or 26
    local turn, ready, slots, rate_next, last = match(text, '^ (%d+) (%d+) (%d+) (%d+) ()', width + 1)
    local rest = last and sub(text, last)
    local found = rest and (limits[rest] or limits_of(rest))
    if not found then
      return false
    end
    groups[names[i]] = {
      name = names[i], where = sub(text, 1, width), turn = tonumber(turn), ready = tonumber(ready), slots = tonumber(slots),
      rate_next = tonumber(rate_next), rest = rest, limits = found, is_stored = texts[i], is_changed = false,
      head = false, -- the priority of its first job, if known
    }
  end
  return true
end

local function change(group)
  if not group.is_changed then
    changed[#changed + 1], group.is_changed = group, true
  end
end

-- From when a group may start jobs, as far as time decides (us).
local function opening_of(group)
  local limit = group.limits
  return limit.interval and math.max(limit.rest_us, group.rate_next - limit.tolerance) or limit.rest_us
end

-- Texts of numbers that many groups have.
local texts_of, slots_of = {}, {}
local function text_of(number)
  local text = texts_of[number]
  if not text then
    text = format('%d', number)
    texts_of[number] = text
  end
  return text
end

-- Where a group belongs, and its score if that is `resting`; nil if nothing is left of it. `turn` is the text of its turn.
local function place_of(group, turn)
  local limit = group.limits
  if group.ready > 0 then
    local opens = opening_of(group)
    if limit.is_paused or (opens - now_us <= 0 and group.slots >= limit.max) then
      return RESTING, 'inf'
    elseif opens - now_us > 0 then
      return RESTING, format('%d', opens)
    end
    local slots = slots_of[group.slots]
    if not slots then
      slots = format('%09d', group.slots)
      slots_of[group.slots] = slots
    end
    return text_of(group.head) .. slots .. turn
  elseif group.slots > 0 or limit.is_kept then
    return NOWHERE
  end
  local ends = math.max(limit.rest_us, limit.interval and group.rate_next or 0)
  if ends - now_us > 0 then
    return RESTING, format('-%d', ends)
  end
end

-- A key of the wrong type must fail the call before the first write.
local function check_groups()
  if changed[1] then
    call('ZCARD', k_turns)
    call('ZCARD', k_resting)
    call('ZCARD', k_group_names)
  end
end

-- Writes the groups that this call changed.
local function write_groups()
  local set, new, dropped, turns, turns_over, rested, resting = {}, {}, {}, { '0', LONG_MEMBER }, { LONG_MEMBER }, {}, {}
  for i = 1, #changed do
    local group = changed[i]
    local turn = format('%016d', group.turn)
    local where, score = place_of(group, turn)
    local name, before = group.name, group.where
    if before == RESTING then
      if where ~= RESTING then
        rested[#rested + 1] = name
      end
    elseif before ~= NOWHERE and before ~= where then
      turns_over[#turns_over + 1] = before .. '\t' .. name
    end
    if where == RESTING then
      resting[#resting + 1], resting[#resting + 2] = score, name
    elseif where and where ~= NOWHERE and where ~= before then
      turns[#turns + 1], turns[#turns + 2] = '0', where .. '\t' .. name
    end
    if where then
      -- The zeros make it longer than 64 bytes, so that a small hash is a hash table.
      set[#set + 1], set[#set + 2] = name, where .. ' 000' .. turn .. ' ' .. text_of(group.ready) .. ' ' .. text_of(group.slots)
        .. ' ' .. text_of(group.rate_next) .. ' ' .. group.rest
      if not group.is_stored then
        new[#new + 1], new[#new + 2] = '0', name
      end
    elseif group.is_stored then
      dropped[#dropped + 1] = name
    end
  end
  if not turns[3] then
    turns, turns_over = {}, turns_over[2] and turns_over or {}
  end
  local writes = {
    'ZADD', k_turns, turns, 'ZREM', k_turns, turns_over, 'ZREM', k_resting, rested, 'ZADD', k_resting, resting,
    'HSET', k_groups, set, 'ZADD', k_group_names, new, 'HDEL', k_groups, dropped, 'ZREM', k_group_names, dropped,
  }
  for i = 1, #writes, 3 do
    if writes[i + 2][1] then
      call(writes[i], writes[i + 1], unpack(writes[i + 2]))
    end
  end
end

local function change_number(at, by)
  numbers[at] = format('%d', numbers[at] + by)
end
