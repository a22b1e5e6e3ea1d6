-- fast/enqueue: stores new jobs that share one spec, ready at once, in the common case.
-- keys: state jobs lane sleepers wake hints
-- uses:
-- flags:
-- guards: lazy
-- args: as in enqueue.lua, with one spec, which is stored in the values
-- reply: STORED_READY for all; or `full`, before anything is written: repeat the call with enqueue.lua
local after, after_number = string.match(ARGV[AFTER], '^(.*) (%d+)$')
local stored = redis.call('HMGET', k_state, STATS_FIELD, ARGV[CALL_SLOT], after or '')
local stats = stored[1] and #stored[1] == STATS_BYTES and { struct.unpack(HOT_FORMAT, stored[1]) }
local latest_call = tonumber(string.match(stored[2] or '0', '^%d+'))
if not stats or latest_call >= tonumber(ARGV[CALL_NUMBER]) then
  return 'full'
elseif after and string.match(stored[3] or '', '^%d+') ~= after_number then
  return 'full' -- as the page before: their order must not change
end
local now_us = math.max(clock_us, stats[CLOCK_MARK])
local now = math.floor(now_us / 1000)
local age, span = now - tonumber(ARGV[EARLIEST]), tonumber(ARGV[SPAN])
local ids_carry_time = math.abs(age) <= ULID_TRUST and math.abs(age - span) <= ULID_TRUST
local is_current = stats[SCHEMA] == SCHEMA_VERSION and stats[PARTITIONS] == tonumber(ARGV[KNOWN_PARTITIONS])
if not is_current or not ids_carry_time or now_us - clock_us > CLOCK_SLACK_US then
  return 'full'
end

local spec, ids, bytes = ARGV[SPEC], {}, 0
for i = FIRST_JOB, #ARGV - 1, 2 do
  ids[#ids + 1] = ARGV[i]
  bytes = bytes + #ARGV[i + 1] - #spec - 1
end
if stats[STALE_ENTRIES] > 0 or stats[GROW_AT] > 0 or #ids > WAKE_MAX then
  return 'full'
end
local existing = redis.call('HMGET', k_jobs, unpack(ids))
for i = 1, #ids do
  if existing[i] then
    return 'full'
  end
end

-- A key of the wrong type must fail the call before the first write.
local has_waiters = stats[WAITERS_UNTIL] > now
if has_waiters then
  redis.call('LLEN', k_wake)
  redis.call('ZCARD', k_sleepers)
end
redis.call('RPUSH', k_lane, unpack(ids))
redis.call('HSET', k_jobs, unpack(ARGV, FIRST_JOB, FIRST_JOB + 2 * #ids - 1))
if has_waiters then
  redis.call('ZREMRANGEBYSCORE', k_sleepers, '-inf', now)
  local woken, wakeups = redis.call('ZPOPMIN', k_sleepers, #ids), {}
  for i = 1, #woken / 2 do
    wakeups[i] = '1'
  end
  if wakeups[1] then
    redis.call('RPUSH', k_wake, unpack(wakeups))
  end
  if #wakeups < #ids then
    stats[WAITERS_UNTIL] = 0 -- no waiter is left
  end
end

local priority = tonumber(string.match('\n' .. spec, '\n' .. PRIORITY .. '(%d)')) or PRIORITY_DEFAULT
local ready = 8 * (READY + priority) -- where its number of ready jobs ends
local count = struct.unpack('<d', stored[1], ready - 7) + #ids
stats[BYTES] = stats[BYTES] + bytes
stats[TOTAL_ENQUEUED] = stats[TOTAL_ENQUEUED] + #ids
local minute = math.floor(now / 60000)
if stats[ENQUEUED_MINUTE] ~= minute then
  local before = stats[ENQUEUED_MINUTE] == minute - 1 and stats[ENQUEUED_MINUTE + 1] or 0
  stats[ENQUEUED_MINUTE], stats[ENQUEUED_MINUTE + 1], stats[ENQUEUED_MINUTE + 2] = minute, 0, before
end
stats[ENQUEUED_MINUTE + 1] = stats[ENQUEUED_MINUTE + 1] + #ids
stats[CLOCK_MARK] = now_us
local packed = struct.pack(HOT_FORMAT, unpack(stats, 1, HOT_COUNT)) .. string.sub(stored[1], HOT_BYTES + 1, ready - 8)
  .. struct.pack('<d', count) .. string.sub(stored[1], ready + 1)
local call = ARGV[CALL_NUMBER] .. ' ' .. now .. ' ' .. STORED_READY
redis.call('HSET', k_state, STATS_FIELD, packed, ARGV[CALL_SLOT], call)
if stats[WATCHED_UNTIL] > now then
  redis.call('SPUBLISH', k_hints, 'ready ' .. table.concat(ids, '\nready ') .. '\n' .. NOTIFY_WORK)
end
return { STORED_READY }
