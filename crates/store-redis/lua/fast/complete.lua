-- fast/complete: completes jobs and claims more, in the common case. Either part may be empty.
-- keys: state jobs ready running open claims left tokens holds leases owners wake hints
-- uses:
-- flags: allow-oom
-- guards: lazy
-- args: as in complete.lua, without results
-- reply: as in complete.lua; or `full`, before anything is written: repeat the call with complete.lua
local PAGE = 100
local stored = redis.call('HGET', k_state, STATS_FIELD)
if not stored or #stored ~= STATS_BYTES then
  return 'full'
end
local stats = { struct.unpack(STATS_FORMAT, stored) }
local now_us = math.max(clock_us, stats[CLOCK_MARK])
local now = math.floor(now_us / 1000)
-- Negative if the queue has limits. A call that may have to wake waiters on such a queue needs the full script.
local full_from = stats[FULL_FROM]
local is_limited = full_from < 0
if is_limited then
  full_from = stats[WAITERS_UNTIL] > now and 0 or -full_from
end
if stats[SCHEMA] ~= SCHEMA_VERSION or now_us - clock_us > CLOCK_SLACK_US or now >= full_from then
  return 'full'
end
local byte, find, match = string.byte, string.find, string.match

-- Completions. Each job must be leased to its token, with nothing but its value to remove.
local claims = tonumber(ARGV[1])
local tokens, counts, first, total, bytes = {}, {}, 2 + 2 * claims, 0, 0
for i = 1, claims do
  tokens[i], counts[i] = ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  total = total + counts[i]
end
local last = first + total - 1
local closed, scores, holds, singles, opened = {}, {}, {}, {}, {}
if total > 0 then
  local leases = redis.call('HMGET', k_running, unpack(ARGV, first, last))
  local opens = redis.call('HMGET', k_open, unpack(tokens))
  local at = 0
  for i = 1, claims do
    local token, seen, seen_bytes = tokens[i], false, nil
    for _ = 1, counts[i] do
      at = at + 1
      -- Most leases of a claim are the same text.
      if leases[at] ~= seen or not seen then
        seen = leases[at]
        seen_bytes = tonumber(seen and find(seen, token .. '\t', 1, true) == 1 and match(seen, '^%d%-(%d+)', #token + 2))
        if not seen_bytes then
          return 'full'
        end
      end
      bytes = bytes + seen_bytes
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
  redis.call('HLEN', k_running)
  redis.call('HLEN', k_open)
end

-- The claim: the heads of the lanes. An entry with a TAB has a job that needs more care.
local at = last + 2
local claimer = ARGV[at + 7] and ARGV[at]
local record, ends = redis.call('HGET', k_owners, claimer or ''), redis.call('ZSCORE', k_leases, claimer or '')
local ids, values, leases, lanes, found = {}, {}, {}, {}, 0
local token, text, seq, suspect, wakeups, interval, next_us
if claimer then
  local before
  before, suspect = match(record or '0\t\t\t\t', '^%d+\t(%d*)\t[^\t]*\t(.*)$')
  seq = claimer == '' and '0' or ARGV[at + 1]
  local is_repeated = not before or (before ~= '' and tonumber(seq) <= tonumber(before))
  local max, room = math.min(tonumber(ARGV[at + 3]), CLAIM_MAX), CLAIM_BYTES_MAX
  if is_limited then
    local stored_limits = redis.call('HMGET', k_state, RULES_FIELD, RATE_NEXT_FIELD)
    if ARGV[at + 7] ~= '' or #(stored_limits[1] or '') < UNGROUPED_BYTES then
      return 'full'
    end
    local max_running, count, period, burst = struct.unpack('<dddd', stored_limits[1], LIMITS_AT)
    if max_running >= 0 then
      max = math.min(max, max_running - redis.call('HLEN', k_running) + redis.call('HEXISTS', k_running, '') + total)
    end
    if count >= 0 then -- as in lib/limit.lua
      burst = math.max(1, math.min(burst, count))
      interval, next_us = math.ceil(period / (count - burst + 1)), math.max(tonumber(stored_limits[2] or 0), now_us)
      max = math.min(max, math.floor(((burst - 1) * interval - next_us + now_us) / interval) + 1)
    end
  end
  local is_large = stats[BYTES] > room and stats[BYTES] / redis.call('HLEN', k_jobs) * max > room
  if is_repeated or is_large or ARGV[at + 5] == AT_MOST_ONCE then
    return 'full'
  end
  token = string.format('%.0f', math.max(now_us, stats[LAST_TOKEN] + 1)) .. '-' .. ARGV[at + 2]
  local suffix = (ARGV[at + 5] == DISPATCH and '\t' .. NOT_ACCEPTED) or (ARGV[at + 6] ~= '' and '\t') or ''
  suffix = ARGV[at + 6] == '' and suffix or suffix .. '\t' .. ARGV[at + 6]
  for priority = 0, PRIORITY_LAST do
    if stats[READY + priority] > 0 and found < max then
      local entries = redis.call('LRANGE', k_ready[priority], 0, max - found - 1)
      local stored_values = entries[1] and redis.call('HMGET', k_jobs, unpack(entries))
      local texts = {} -- most leases are the same text: built once per length
      for i = 1, #entries do
        local value = stored_values[i] or '' -- if missing, its length is NEVER
        local length = #value - 1
        if byte(value) ~= LINE_FEED then
          local _, header = find(value, '\n\n', 1, true)
          length = byte(value) ~= NEEDS_CARE and header and #value - header or NEVER
        end
        room = room - length
        texts[length] = texts[length] or token .. '\t' .. priority .. VALUE_ONLY .. length .. suffix
        found = found + 1
        ids[found], values[found] = entries[i], value
        leases[2 * found - 1], leases[2 * found] = entries[i], texts[length]
      end
      lanes[#lanes + 1], lanes[#lanes + 2] = priority, #entries
    end
  end
  text = table.concat(ids, '\n') .. '\n'
  wakeups = ARGV[at + 7] ~= '' and redis.call('LLEN', k_wake)
  if room < 0 or find(text, '\t', 1, true) or (wakeups and found == 0) then
    return 'full'
  end
end

-- Closed claims are removed many at once, after a while. Checked once a second, and until none is left.
local pruned = {}
if claimer and now >= stats[PRUNE_FROM] then
  local second = now - now % 1000
  pruned = redis.call('ZRANGEBYSCORE', k_tokens, '-inf', '(' .. second - CLAIM_TOMBSTONE, 'LIMIT', 0, PAGE)
  redis.call('HLEN', k_left)
  stats[PRUNE_FROM] = #pruned == PAGE and 0 or second + 1000
end
local nothing = { total > 0 and 'completed' or '', '', 0, NOTHING_FOUND, stats[PARTITIONS] }
if total == 0 and found == 0 and not pruned[1] then
  return nothing
end

-- A key of the wrong type must fail the call before the first write. All others were read, or are written first.
redis.call('ZCARD', k_tokens)
redis.call('ZCARD', k_holds)
if found == 0 then
  redis.call('HLEN', k_claims)
  redis.call('HLEN', k_jobs)
end
local until_ms, left, lines = 0, NOTHING_FOUND, {}
if found > 0 then
  local owner, lease_ms = claimer == '' and TOKEN_OWNER .. token or claimer, ARGV[at + 4]
  redis.call('HSET', k_claims, token, seq .. '\t' .. found .. '\t' .. owner .. '\n' .. text)
  scores[#scores + 1], scores[#scores + 2] = '+inf', token
  opened[#opened + 1], opened[#opened + 2] = token, found .. '\t' .. seq .. '\t' .. owner
  until_ms = math.max(tonumber(ends or now), now + lease_ms)
  redis.call('ZADD', k_leases, until_ms, owner)
  local latest = claimer == '' and '\t' or seq .. '\t' .. token
  redis.call('HSET', k_owners, owner, lease_ms .. '\t' .. latest .. '\t' .. suspect)
  if claimer ~= '' then
    redis.call('ZADD', k_holds, 0, owner .. '\t' .. token)
  end
  redis.call('HSET', k_running, unpack(leases))
  for i = 1, #lanes, 2 do
    local priority, count = lanes[i], lanes[i + 1]
    redis.call('LTRIM', k_ready[priority], count, -1)
    stats[LIST_BASE + priority] = stats[LIST_BASE + priority] + count
    stats[READY + priority] = stats[READY + priority] - count
  end
  for priority = 0, wakeups and PRIORITY_LAST or -1 do
    left = left + stats[READY + priority]
  end
  if left > 0 and wakeups == 0 then
    redis.call('RPUSH', k_wake, '1') -- for the jobs left
  end
  stats[LAST_TOKEN] = math.max(now_us, stats[LAST_TOKEN] + 1)
  full_from = math.min(full_from, until_ms)
  stats[FULL_FROM] = is_limited and -full_from or full_from
end
if total > 0 then
  redis.call('HDEL', k_running, unpack(ARGV, first, last))
  redis.call('HDEL', k_jobs, unpack(ARGV, first, last))
  stats[BYTES] = stats[BYTES] - bytes
  stats[TOTAL_SUCCEEDED] = stats[TOTAL_SUCCEEDED] + total
  local minute = math.floor(now / 60000)
  if stats[ENDED_MINUTE] ~= minute then
    local before = stats[ENDED_MINUTE] == minute - 1 and stats[ENDED_MINUTE + 1] or 0
    stats[ENDED_MINUTE], stats[ENDED_MINUTE + 1], stats[ENDED_MINUTE + 2] = minute, 0, before
  end
  stats[ENDED_MINUTE + 1] = stats[ENDED_MINUTE + 1] + total
end
local changes = {
  'HDEL', k_open, closed, 'HSET', k_open, opened, 'ZADD', k_tokens, scores, 'ZREM', k_holds, holds,
  'ZREM', k_leases, singles, 'HDEL', k_owners, singles,
  'ZREM', k_tokens, pruned, 'HDEL', k_claims, pruned, 'HDEL', k_left, pruned,
}
for i = 1, #changes, 3 do
  if changes[i + 2][1] then
    redis.call(changes[i], changes[i + 1], unpack(changes[i + 2]))
  end
end
stats[CLOCK_MARK] = now_us
local packed = struct.pack(STATS_FORMAT, unpack(stats, 1, STATS_COUNT))
if interval and found > 0 then
  redis.call('HSET', k_state, STATS_FIELD, packed, RATE_NEXT_FIELD, string.format('%.0f', next_us + found * interval))
else
  redis.call('HSET', k_state, STATS_FIELD, packed)
end
if stats[WATCHED_UNTIL] > now then
  for i = first, last do
    lines[#lines + 1] = 'succeeded ' .. ARGV[i]
  end
  for i = 1, found do
    lines[#lines + 1] = 'running ' .. ids[i]
  end
  redis.call('SPUBLISH', k_hints, table.concat(lines, '\n'))
end
return found == 0 and nothing
  or { nothing[1], token, until_ms, left, stats[PARTITIONS], text, VALUES_ONLY, unpack(values) }
