-- set: changes settings of the queue, all or none.
-- keys: state settings running leases owners sleepers wake hints
-- uses: stats notify limit
-- flags:
-- args: number of settings, name and text of each; then position and number of each rule that they change
-- reply: `absent` if the queue does not exist; `conflict` if it would have limits and several partitions; else name and text of every stored setting
if not exists then
  return 'absent'
end
local PARTITIONS_SETTING = 'partitions'
local texts_end = 1 + 2 * tonumber(ARGV[1])
local partitions = redis.call('HGET', k_settings, PARTITIONS_SETTING)
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

local rate_before, before = limits()
for i = texts_end + 1, #ARGV - 1, 2 do
  rules[tonumber(ARGV[i])] = tonumber(ARGV[i + 1])
end
local rate, after = limits()
-- A queue with `auto` has one partition, or has grown.
if is_limited() and math.max(stats[PARTITIONS], tonumber(partitions) or 1) > 1 then
  commit()
  return 'conflict'
end
if texts_end > 1 then
  redis.call('HSET', k_settings, unpack(ARGV, 2, texts_end))
end
local has_limits = is_limited()
if has_limits then
  stats[GROW_AT] = 0
end
local packed
if has_limits or rule(BURST) ~= 1 then
  packed = struct.pack(RULES_FORMAT, unpack(rules, 1, RULES_COUNT))
else
  packed = struct.pack(UNLIMITED_FORMAT, unpack(rules, 1, UNLIMITED_COUNT))
end
redis.call('HSET', k_state, RULES_FIELD, packed)
if rule(RATE_COUNT) < 0 then
  redis.call('HDEL', k_state, RATE_NEXT_FIELD)
elseif rate ~= rate_before then
  cut_rate()
end
if after ~= before then
  work = math.max(1, startable())
end
is_changed = true
need_full(0)
commit()
return redis.call('HGETALL', k_settings)
