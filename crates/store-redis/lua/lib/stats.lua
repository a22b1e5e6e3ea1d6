-- The stats and rules of the queue, and a clock that never goes backwards. A call that changed nothing writes nothing.
local KEPT_BYTES = { succeeded = SUCCEEDED_BYTES, dead = DEAD_BYTES, cancelled = CANCELLED_BYTES }
local TOTAL = { succeeded = TOTAL_SUCCEEDED, dead = TOTAL_DEAD, cancelled = TOTAL_CANCELLED }
local KEEP = { succeeded = SUCCEEDED_AGE, dead = DEAD_AGE, cancelled = CANCELLED_AGE }

local exists = stored[1] and true or false
local has_schedules = stored[3] and true or false
local uses_groups = stored[4] and true or false
local rest_until = tonumber(stored[5] or 0)
local stats
if exists then
  if #stored[1] ~= STATS_BYTES then
    return redis.error_reply('DAMAGED the stats of the queue have ' .. #stored[1] .. ' bytes')
  end
  stats = { struct.unpack(STATS_FORMAT, stored[1]) }
  if stats[SCHEMA] > GROUPS_SCHEMA then
    return redis.error_reply('NEWER the queue has schema ' .. stats[SCHEMA])
  elseif stats[SCHEMA] < SCHEMA_VERSION then
    return redis.error_reply('OLDER the queue has schema ' .. stats[SCHEMA])
  end
else
  stats = {}
  for i = 1, STATS_COUNT do
    stats[i] = 0
  end
  stats[SCHEMA], stats[PARTITIONS] = SCHEMA_VERSION, 1
end

local rules
local function rule(i)
  if not rules then
    local bytes = stored[2] and #stored[2]
    if bytes == RULES_BYTES then
      rules = { struct.unpack(RULES_FORMAT, stored[2]) }
    elseif bytes == UNGROUPED_BYTES then
      rules = { struct.unpack(UNGROUPED_FORMAT, stored[2]) }
    elseif bytes == UNLIMITED_BYTES then
      rules = { struct.unpack(UNLIMITED_FORMAT, stored[2]) }
    else
      rules = { 3600000, 100000, 0, 4, 0, 3600000, 10000, 67108864, 2592000000, 100000, 268435456, 3600000, 10000, 67108864 }
    end
    if bytes ~= RULES_BYTES then
      if bytes ~= UNGROUPED_BYTES then
        rules[MAX_RUNNING], rules[RATE_COUNT], rules[RATE_PERIOD], rules[BURST] = -1, -1, -1, 1
      end
      rules[GROUP_MAX_RUNNING], rules[GROUP_RATE_COUNT], rules[GROUP_RATE_PERIOD] = -1, -1, -1
      rules[GROUP_BURST], rules[GROUP_SLOT] = 1, SLOT_RUN
    end
  end
  return rules[i]
end

-- Whether the queue limits how many jobs run, or are claimed per period.
local function is_limited()
  return rule(MAX_RUNNING) >= 0 or rule(RATE_COUNT) >= 0
end

-- A rate by GCRA: the time between two claims on schedule, and how far ahead of it a claim may be (us).
local function gcra(count, period, burst)
  burst = math.max(1, math.min(burst, count))
  local interval = math.ceil(period / (count - burst + 1))
  return interval, (burst - 1) * interval
end

-- The numbers of all groups together, in a queue that uses groups.
local group_numbers = {}
for number in string.gmatch(stored[4] or '', '%S+') do
  group_numbers[#group_numbers + 1] = tonumber(number)
end

local function grouped_ready()
  local total = 0
  for priority = 0, uses_groups and PRIORITY_LAST or -1 do
    total = total + group_numbers[GROUPED_READY + priority]
  end
  return total
end

-- If the clock is slightly behind the mark, use the mark; if it is further behind, the clock was set back: use the clock.
-- `is_changed` advances the mark; `is_dirty` only writes the stats, for internal bookkeeping.
local is_changed, is_dirty, is_clock_set_back = false, false, false
local now_us = clock_us
if clock_us < stats[CLOCK_MARK] then
  if stats[CLOCK_MARK] - clock_us <= CLOCK_SLACK_US then
    now_us = stats[CLOCK_MARK]
  else
    is_clock_set_back = true
  end
end
local now = math.floor(now_us / 1000)

local function digits(number)
  return string.format('%.0f', number)
end

-- From this time on the fast scripts refuse calls. Claims raise it again (lib/claim.lua). It is negative if the queue has
-- limits: a past time for fast scripts that do not know them.
local function need_full(from)
  stats[FULL_FROM] = math.min(math.abs(stats[FULL_FROM]), from) * (stats[FULL_FROM] < 0 and -1 or 1)
end

-- Adds to a per-minute count: the current minute and the one before.
local function count(at, n)
  local minute = math.floor(now / 60000)
  if stats[at] ~= minute then
    stats[at + 2] = minute == stats[at] + 1 and stats[at + 1] or 0
    stats[at + 1] = 0
    stats[at] = minute
  end
  stats[at + 1] = stats[at + 1] + n
end

local write_groups -- in lib/group/place

local function write_group_numbers()
  local texts = {}
  for i = 1, GROUP_NUMBERS do
    texts[i] = digits(group_numbers[i])
  end
  redis.call('HSET', k_state, GROUPS_FIELD, table.concat(texts, ' '))
end

local function write_stats()
  redis.call('HSET', k_state, STATS_FIELD, struct.pack(STATS_FORMAT, unpack(stats, 1, STATS_COUNT)))
end
