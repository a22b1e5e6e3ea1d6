-- The queue's numbers and rules, and one guarded reading of the clock. A step that changed nothing writes nothing.
local MARK, LAST_TOKEN, PAUSED, FRONT, BACK, GHOSTS, BYTES = 2, 3, 4, 5, 6, 7, 8
local KEPT_BYTES = { succeeded = 9, dead = 10, cancelled = 11 }
local TOTAL_ENQUEUED, TOTAL_RESCUED = 12, 16
local TOTAL = { succeeded = 13, dead = 14, cancelled = 15 }
local ENQUEUED_MINUTE, ENDED_MINUTE = 17, 20
local WATCHED_UNTIL, SLEEPING_UNTIL, CUTTING = 23, 24, 25
local READY, BASE = 26, 36 -- plus the priority
local PARTITIONS, GROW_AT = 46, 47
local SCHEMA = 1
local FORMAT = '<ddddddddddddddddddddddddddddddddddddddddddddddd'
local DEDUP_FOR, DEDUP_MAX, REQUEUE, POISON_AFTER, KEEP_SUCCEEDED = 1, 2, 3, 4, 5
local KEEP = { succeeded = 6, dead = 9, cancelled = 12 } -- age; then count, bytes

local stored = redis.call('HMGET', k_state, 'figures', 'rules')
local exists = stored[1] and true or false
local f
if exists then
  if #stored[1] ~= 376 then
    return redis.error_reply('DAMAGED the figures of the queue have ' .. #stored[1] .. ' bytes')
  end
  f = { struct.unpack(FORMAT, stored[1]) }
  if f[1] > SCHEMA then
    return redis.error_reply('NEWER the queue has schema ' .. f[1])
  end
else
  f = {}
  for i = 1, 47 do
    f[i] = 0
  end
  f[1], f[PARTITIONS] = SCHEMA, 1
end

local rules
local function rule(i)
  if not rules then
    if stored[2] and #stored[2] == 112 then
      rules = { struct.unpack('<dddddddddddddd', stored[2]) }
    else
      rules = { 3600000, 100000, 0, 3, 0, 3600000, 10000, 67108864, 2592000000, 100000, 268435456, 3600000, 10000, 67108864 }
    end
  end
  return rules[i]
end

-- A little behind the mark, the mark is used; further behind, the new time is believed.
-- Changed: the mark moves. Dirty: only bookkeeping that nobody sees.
local is_changed, is_dirty, is_stepped_back = false, false, false
local now_us = clock_us
if clock_us < f[MARK] then
  if f[MARK] - clock_us <= 5000000 then
    now_us = f[MARK]
  else
    is_stepped_back = true
  end
end
local now = math.floor(now_us / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

-- Counts by the minute: this one and the last.
local function count(at, n)
  local minute = math.floor(now / 60000)
  if f[at] ~= minute then
    f[at + 2] = minute == f[at] + 1 and f[at + 1] or 0
    f[at + 1] = 0
    f[at] = minute
  end
  f[at + 1] = f[at + 1] + n
end

local function write_figures()
  redis.call('HSET', k_state, 'figures', struct.pack(FORMAT, unpack(f, 1, 47)))
end
