-- settle: puts items where they belong: once in processing while leased, else once in the queue; an id without data
-- nowhere. What is out of place is left alone for a while first, because clients of the original need two steps for
-- what is one step here: it may be on its way. When it was first seen there is kept among the marks.
-- flags: allow-oom
-- args: grace (ms), ids
-- reply: how many ids were settled, of these how many went back to the queue, how many to processing, how many ids
-- were removed; how long until the next is due (ms); then the ids that are left alone as yet
local grace = tonumber(ARGV[3])
local FIRST = 4
-- How many entries of lists one step may pass over: some milliseconds.
local BUDGET = 1000000
-- A mark this old may be of an earlier stay: clients of the original do not remove marks.
local MARK_LIVES = math.max(30000, 10 * grace)

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

-- How much longer an item is left alone.
local function rest(id)
  local since = tonumber(redis.call('HGET', marks, id) or 0)
  if since > now or now - since > MARK_LIVES then
    since = now
    redis.call('HSET', marks, id, now)
    redis.call('PEXPIRE', marks, MARK_LIVES)
  end
  return since + grace - now
end

-- Being worked on: its holder completes it, and should that fail it is found in processing.
local function hold(id, in_queue, in_processing)
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
  -- The oldest of its places stays: the one nearest to the right.
  if in_queue > 1 then
    redis.call('LREM', queue, in_queue - 1, id)
  end
  removed = removed + 1
end

local function settle(id)
  local in_queue, in_processing, in_cleaning = count(queue, id), count(processing, id), count(cleaning, id)
  if redis.call('EXISTS', item_key(id)) == 0 then
    remove(queue, id, in_queue)
    remove(processing, id, in_processing)
    remove(cleaning, id, in_cleaning)
    redis.call('HDEL', marks, id)
    return
  end
  local is_leased = redis.call('EXISTS', lease_key(id)) == 1
  -- In the layout 0.1 the holder of a lease that finds its item not in processing is told that it did not complete it,
  -- and the lease stays: it says nothing of an item that waits.
  if cleaning and in_queue > 0 and in_processing == 0 then
    is_leased = false
  end
  local wanted = is_leased and 0 or 1
  if in_queue == wanted and in_processing == 1 - wanted and in_cleaning == 0 then
    redis.call('HDEL', marks, id)
    return
  end
  local left = rest(id)
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
    hold(id, in_queue, in_processing)
  else
    requeue(id, in_queue)
  end
end

local cost = redis.call('LLEN', queue) + redis.call('LLEN', processing)
local done = 0
for i = FIRST, #ARGV do
  settle(ARGV[i])
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
