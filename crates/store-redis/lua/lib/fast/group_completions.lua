-- The completions of fast/group_complete: reads what they need, and refuses what it does not know.
local stored = call('HMGET', k_state, STATS_FIELD, RULES_FIELD, GROUPS_FIELD, RATE_NEXT_FIELD)
if not stored[1] or #stored[1] ~= STATS_BYTES then
  return 'full'
end
local stats = { struct.unpack(STATS_FORMAT, stored[1]) }
now_us = math.max(clock_us, stats[CLOCK_MARK])
now = math.floor(now_us / 1000)
-- As in fast/complete.
local full_from = stats[FULL_FROM]
local is_limited = full_from < 0
if is_limited then
  full_from = stats[WAITERS_UNTIL] > now and 0 or -full_from
end
if stats[SCHEMA] ~= GROUPS_SCHEMA or now_us - clock_us > CLOCK_SLACK_US or now >= full_from
  or not load_rules(stored[3], stored[2]) or rules[5] ~= SLOT_RUN then
  return 'full'
end

-- Completions. Each job must be leased to its token, with nothing but its value and its slot to remove.
local claims = tonumber(ARGV[1])
local tokens, counts, first, total, bytes = {}, {}, 2 + 2 * claims, 0, 0
for i = 1, claims do
  tokens[i], counts[i] = ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  total = total + counts[i]
end
local last = first + total - 1
local closed, scores, holds, singles, opened = {}, {}, {}, {}, {}
local names, freed, slots_left = {}, {}, {} -- groups that change, the number of their slots that are free now, and those slots
if total > 0 then
  local leases = call('HMGET', k_running, unpack(ARGV, first, last))
  local opens = call('HMGET', k_open, unpack(tokens))
  local at = 0
  for i = 1, claims do
    local token, lengths, group_of = tokens[i], {}, {} -- by lease: most of them are the same text
    for _ = 1, counts[i] do
      at = at + 1
      local text = leases[at]
      local length, name = lengths[text], group_of[text]
      if not length then
        if not text or find(text, token .. '\t', 1, true) ~= 1 then
          return 'full'
        end
        length, name = match(text, '^%d%-(%d+) ([^\t]*)', #token + 2)
        if not length then
          return 'full'
        end
        length = tonumber(length)
        lengths[text], group_of[text] = length, name
        if name ~= '' and not freed[name] then
          names[#names + 1], freed[name] = name, 0
        end
      end
      bytes = bytes + length
      if name ~= '' then
        freed[name] = freed[name] + 1
        slots_left[#slots_left + 1] = name .. '\t' .. ARGV[first + at - 1]
      end
    end
    local remaining, rest, owner = match(opens[i] or '', '^(%d+)(\t%d+\t(.*))$')
    remaining = remaining and remaining - counts[i]
    if not remaining or remaining < 0 then
      return 'full'
    elseif remaining > 0 then
      opened[#opened + 1], opened[#opened + 2] = token, remaining .. rest
    else
      closed[#closed + 1], scores[#scores + 1], scores[#scores + 2] = token, now, token
      if owner == TOKEN_OWNER .. token then
        singles[#singles + 1] = owner
      else
        holds[#holds + 1] = owner .. '\t' .. token
      end
    end
  end
else
  call('HLEN', k_running)
  call('HLEN', k_open)
end

local slots_freed = #slots_left
