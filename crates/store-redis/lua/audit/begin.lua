-- audit/begin: rebuilds missing or invalid stats and numbers of groups, and restores the anchor fields that keep hashes hash tables.
-- keys: state settings jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting schedules plans firing refilling names lined working turns resting recheck groups group_names sleepers wake hints
-- uses: audit/report audit/group_numbers
-- flags: allow-oom
-- args: none
-- reply: as in lib/audit/report, with `absent` as next cursor if there is no queue; then RULES_LOST, or STATS_LOST if only the stats were lost
local WATCHED_MS = 30000
local stored = redis.call('HGET', k_state, STATS_FIELD)
-- The state of a deleted queue, or of one that is watched before it exists, has no stats.
if not stored and redis.call('EXISTS', unpack(KEYS, 2)) == 0 then
  return page_reply('absent')
end

local group_numbers, uses_groups = repaired_group_numbers()
local schema = uses_groups and GROUPS_SCHEMA or SCHEMA_VERSION

-- Stats for what is stored, erring on the safe side: jobs can be claimed and stale entries are detected; the rest of the
-- audit corrects the counts.
local function rebuild_stats()
  local stats = {}
  for i = 1, STATS_COUNT do
    stats[i] = 0
  end
  local latest = redis.call('ZREVRANGE', k_tokens, 0, 0)[1]
  local number = tonumber(string.match(latest or '', '^%d+')) or 0
  stats[SCHEMA], stats[CLOCK_MARK], stats[LAST_TOKEN], stats[PARTITIONS] = schema, clock_us, math.max(clock_us, number), 1
  stats[STALE_ENTRIES] = redis.call('HLEN', k_ghosts)
  stats[WATCHED_UNTIL] = math.floor(clock_us / 1000) + WATCHED_MS
  for priority = 0, PRIORITY_LAST do
    local high = '(' .. string.format('%.0f', (priority + 1) * SUSPECT_LANE)
    stats[READY + priority] = redis.call('LLEN', k_ready[priority])
      + redis.call('ZCOUNT', k_suspects, priority * SUSPECT_LANE, high)
  end
  return stats
end

-- Only list positions may be negative, and FULL_FROM of a queue with limits.
local function is_valid(stats, i)
  local number = stats[i]
  if number ~= number or math.abs(number) == math.huge or number ~= math.floor(number) then
    return false
  end
  return number >= 0 or i == FULL_FROM or (i >= LIST_BASE and i <= LIST_BASE + PRIORITY_LAST)
end

local is_lost = not stored or #stored ~= STATS_BYTES
local stats, is_repaired
if is_lost then
  stats, is_repaired = rebuild_stats(), true
  report('stats_lost')
else
  stats = { struct.unpack(STATS_FORMAT, stored) }
  if stats[SCHEMA] > GROUPS_SCHEMA then
    return redis.error_reply('NEWER the queue has schema ' .. stats[SCHEMA])
  elseif stats[SCHEMA] >= 1 and stats[SCHEMA] < SCHEMA_VERSION then
    return redis.error_reply('OLDER the queue has schema ' .. stats[SCHEMA])
  elseif stats[SCHEMA] ~= schema then
    stats[SCHEMA], is_repaired = schema, true
    report('stats_wrong', nil, 'stat 1 was invalid')
  end
  for i = 1, STATS_COUNT do
    if not is_valid(stats, i) then
      stats[i], is_repaired = 0, true
      report('stats_wrong', nil, 'stat ' .. i .. ' was invalid')
    end
  end
  if stats[PARTITIONS] < 1 then
    stats[PARTITIONS], is_repaired = 1, true
    report('stats_wrong', nil, 'partitions: was below 1')
  end
end
if is_repaired then
  redis.call('HSET', k_state, STATS_FIELD, struct.pack(STATS_FORMAT, unpack(stats, 1, STATS_COUNT)))
end
if group_numbers then
  redis.call('HSET', k_state, GROUPS_FIELD, group_numbers)
  report('stats_wrong', nil, 'numbers of all groups')
end
local anchored = { jobs = k_jobs, opts = k_opts, running = k_running, open = k_open, claims = k_claims }
for name, key in pairs(anchored) do
  if redis.call('HSTRLEN', key, '') < ANCHOR_BYTES then
    redis.call('HSET', key, '', string.rep('.', ANCHOR_BYTES))
    report('anchor_missing', nil, name)
  end
end
-- If all end records are lost, audit/jobs trusts the sets of ended jobs instead.
local ended = redis.call('ZCARD', k_succeeded) + redis.call('ZCARD', k_dead) + redis.call('ZCARD', k_cancelled)
if ended > 0 and redis.call('HLEN', k_final) == 0 then
  redis.call('HSET', k_state, ENDS_LOST_FIELD, 'lost')
end

-- Without it the rate is open.
local rate_next = redis.call('HGET', k_state, RATE_NEXT_FIELD)
if rate_next and not string.find(rate_next, '^%d+$') then
  redis.call('HDEL', k_state, RATE_NEXT_FIELD)
  report('value_unreadable', nil, 'state')
end
local rules = redis.call('HGET', k_state, RULES_FIELD)
local FORMATS = { [RULES_BYTES] = RULES_FORMAT, [UNGROUPED_BYTES] = UNGROUPED_FORMAT, [UNLIMITED_BYTES] = UNLIMITED_FORMAT }
local format = rules and FORMATS[#rules]
local has_rules = format and true or false
for _, number in ipairs(has_rules and { struct.unpack(format, rules) } or {}) do
  has_rules = has_rules and number == math.floor(number) and math.abs(number) < math.huge
end
if not has_rules and (rules or redis.call('HLEN', k_settings) > 0) then
  redis.call('HDEL', k_state, RULES_FIELD)
  report('rules_lost')
  return page_reply('', { RULES_LOST })
end
return page_reply('', is_lost and { STATS_LOST } or nil)
