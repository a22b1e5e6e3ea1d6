-- repair: moves items to the correct list: once in processing while leased, else once in the queue. Removes ids without
-- data. An item in the wrong list is left alone for the grace period first, because original clients need two commands
-- for what is one script call here. The marks store when an item was first seen in the wrong list.
-- flags: allow-oom
-- args: grace (ms), ids
-- reply: number of ids handled, items returned to the queue, items moved to processing, ids removed, time until all
-- pending ids can be repaired (ms); then the pending ids
local grace = tonumber(ARGV[3])
local FIRST = 4
-- Maximum number of list entries to scan per call: a few milliseconds.
local BUDGET = 1000000
-- An older mark may be from an earlier incident, because original clients do not remove marks.
local MARK_TTL = math.max(30000, 10 * grace)

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local requeued, held, removed, wait = 0, 0, 0, 0
local pending = {}

local function count(list, id)
  return list and #redis.call('LPOS', list, id, 'COUNT', 0) or 0
end

local function remove(list, id, times)
  if times > 0 then
    removed = removed + 1
    redis.call('LREM', list, 0, id)
  end
end

-- Returns how much of the grace period is left, in ms.
local function remaining_grace(id)
  local since = tonumber(redis.call('HGET', marks, id) or 0)
  if since > now or now - since > MARK_TTL then
    since = now
    redis.call('HSET', marks, id, now)
    redis.call('PEXPIRE', marks, MARK_TTL)
  end
  return since + grace - now
end

-- Leased: the holder completes it, and if that fails a clean finds it in processing.
local function move_to_processing(id, in_queue, in_processing)
  if in_queue > 0 then
    redis.call('LREM', queue, 0, id)
  end
  if in_processing ~= 1 then
    redis.call('LREM', processing, 0, id)
    redis.call('LPUSH', processing, id)
  end
  held = held + 1
end

local function requeue(id, in_queue)
  redis.call('LREM', processing, 0, id)
  if in_queue == 0 then
    redis.call('LPUSH', queue, id)
    requeued = requeued + 1
    return
  end
  -- Keep the oldest entry: the rightmost one.
  if in_queue > 1 then
    redis.call('LREM', queue, in_queue - 1, id)
  end
  removed = removed + 1
end

local function repair(id)
  local in_queue, in_processing, in_cleaning = count(queue, id), count(processing, id), count(cleaning, id)
  if redis.call('EXISTS', item_key(id)) == 0 then
    remove(queue, id, in_queue)
    remove(processing, id, in_processing)
    remove(cleaning, id, in_cleaning)
    redis.call('HDEL', marks, id)
    return
  end
  local is_leased = redis.call('EXISTS', lease_key(id)) == 1
  -- In layout 0.1 a holder whose item is not in processing gets `false` from complete, and the lease stays. So the lease
  -- of a waiting item means nothing.
  if cleaning and in_queue > 0 and in_processing == 0 then
    is_leased = false
  end
  local wanted = is_leased and 0 or 1
  if in_queue == wanted and in_processing == 1 - wanted and in_cleaning == 0 then
    redis.call('HDEL', marks, id)
    return
  end
  local left = remaining_grace(id)
  if left > 0 then
    pending[#pending + 1] = id
    wait = math.max(wait, left)
    return
  end
  redis.call('HDEL', marks, id)
  if in_cleaning > 0 then
    redis.call('LREM', cleaning, 0, id)
  end
  if is_leased then
    move_to_processing(id, in_queue, in_processing)
  else
    requeue(id, in_queue)
  end
end

local cost = redis.call('LLEN', queue) + redis.call('LLEN', processing)
local done = 0
for i = FIRST, #ARGV do
  repair(ARGV[i])
  done = done + 1
  if done * cost > BUDGET then
    break
  end
end
local reply = { done, requeued, held, removed, wait }
for i = 1, #pending do
  reply[#reply + 1] = pending[i]
end
return reply
