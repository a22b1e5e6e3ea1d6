-- set: changes settings of the queue, all or none.
-- keys: state settings jobs opts running leases owners lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts limit group/record group/line group/place
-- flags:
-- args: number of settings, name and text of each; then position and number of each rule that they change
-- reply: `absent` if the queue does not exist; `conflict` if it would have limits and several partitions, `jobs` if it has jobs and their slots would change, `groups` if it has groups and partitions would be added, or `burst COUNT PERIOD BURST` if that burst is too large; else name and text of every stored setting
if not exists then
  return 'absent'
end
local PARTITIONS_SETTING = 'partitions'
local texts_end = 1 + 2 * tonumber(ARGV[1])
local partitions_before = redis.call('HGET', k_settings, PARTITIONS_SETTING) or '1'
local partitions = partitions_before
for i = 2, texts_end, 2 do
  partitions = ARGV[i] == PARTITIONS_SETTING and ARGV[i + 1] or partitions
end

-- What a rate is, and all limits, to compare.
local function limits()
  local interval, tolerance = 0, 0
  if rule(RATE_COUNT) >= 0 then
    interval, tolerance = read_rate()
  end
  local rate = digits(rule(RATE_PERIOD)) .. ' ' .. digits(interval) .. ' ' .. digits(tolerance)
  return rate, rate .. ' ' .. digits(rule(RATE_COUNT)) .. ' ' .. digits(rule(BURST)) .. ' ' .. digits(rule(MAX_RUNNING))
end

local function group_limits()
  return table.concat({ rule(GROUP_MAX_RUNNING), rule(GROUP_RATE_COUNT), digits(rule(GROUP_RATE_PERIOD)), rule(GROUP_BURST) }, ' ')
end

-- A burst with which its rate would not catch up.
local function large_burst(count, period, burst)
  if count < 0 then
    return nil
  end
  local interval, tolerance = gcra(count, period, burst)
  return interval + tolerance > BURST_MAX and string.format('burst %d %s %d', count, digits(period), burst) or nil
end

-- Why these settings may not follow those before, if so. A queue with `auto` has one partition, or has grown.
local function conflict(slot_before)
  if is_limited() and math.max(stats[PARTITIONS], tonumber(partitions) or 1) > 1 then
    return 'conflict'
  end
  local burst = large_burst(rule(RATE_COUNT), rule(RATE_PERIOD), rule(BURST))
    or large_burst(rule(GROUP_RATE_COUNT), rule(GROUP_RATE_PERIOD), rule(GROUP_BURST))
  if burst then
    return burst
  elseif rule(GROUP_SLOT) ~= slot_before and redis.call('HLEN', k_jobs) - redis.call('HEXISTS', k_jobs, '') > 0 then
    return 'jobs'
  elseif partitions ~= partitions_before and partitions ~= '1' and redis.call('HLEN', k_groups) > 0 then
    return 'groups'
  end
end

group_lib.settle_groups()
local rate_before, before = limits()
local groups_before, slot_before = group_limits(), rule(GROUP_SLOT)
for i = texts_end + 1, #ARGV - 1, 2 do
  rules[tonumber(ARGV[i])] = tonumber(ARGV[i + 1])
end
local rate, after_change = limits()
local refusal = conflict(slot_before)
if refusal then
  commit()
  return refusal
end
if texts_end > 1 then
  redis.call('HSET', k_settings, unpack(ARGV, 2, texts_end))
end
local has_group_rules = group_limits() ~= '-1 -1 -1 1' or rule(GROUP_SLOT) ~= SLOT_RUN
if is_limited() or has_group_rules then
  stats[GROW_AT] = 0
end
local packed
if has_group_rules then
  packed = struct.pack(RULES_FORMAT, unpack(rules, 1, RULES_COUNT))
elseif is_limited() or rule(BURST) ~= 1 then
  packed = struct.pack(UNGROUPED_FORMAT, unpack(rules, 1, UNGROUPED_COUNT))
else
  packed = struct.pack(UNLIMITED_FORMAT, unpack(rules, 1, UNLIMITED_COUNT))
end
redis.call('HSET', k_state, RULES_FIELD, packed)
if rule(RATE_COUNT) < 0 then
  redis.call('HDEL', k_state, RATE_NEXT_FIELD)
elseif rate ~= rate_before then
  cut_rate()
end
local are_groups_changed = group_limits() ~= groups_before
if are_groups_changed then
  groups = {}
  cut_group_rates()
  group_lib.settle_groups()
end
if after_change ~= before or are_groups_changed then
  work = math.max(1, startable())
end
is_changed = true
need_full(0)
commit()
return redis.call('HGETALL', k_settings)
