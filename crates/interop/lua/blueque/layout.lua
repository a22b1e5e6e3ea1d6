-- layout: what every script of Blueque begins with: keys by their names, the words of the layout, the time.
-- keys: pending scheduled started complete failed listeners queues beats
-- args: prefix (`blueque` as released, `bluequeue` as in the design note), queue; a script's own begin at ARGV[3]
local k_pending, k_scheduled, k_started, k_complete = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local k_failed, k_listeners, k_queues, k_beats = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local prefix, queue = ARGV[1], ARGV[2]
local is_document = prefix == 'bluequeue'

-- A script that writes must not fail half-way: a key of another type is found here.
redis.call('LLEN', k_pending)
redis.call('ZCARD', k_scheduled)
redis.call('SCARD', k_started)
redis.call('LLEN', k_complete)
redis.call('LLEN', k_failed)
redis.call('SCARD', k_listeners)
redis.call('ZCARD', k_queues)
redis.call('ZCARD', k_beats)

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now = clock[1] .. '.' .. string.format('%06d', clock[2])

local function k_task(id)
  return prefix .. '_task_' .. id
end

local function k_reserved(listener)
  return prefix .. '_reserved_tasks_' .. queue .. '_' .. listener
end

local function k_worker(listener)
  return prefix .. '_worker_' .. listener
end

-- Whoever found nothing is told that there may be something; never what.
local function announce()
  if is_document then
    redis.call('PUBLISH', prefix .. '_channel_' .. queue, 'pending')
  end
end

local function put_last(id)
  redis.call(is_document and 'RPUSH' or 'LPUSH', k_pending, id)
  announce()
end

local function put_first(id)
  redis.call(is_document and 'LPUSH' or 'RPUSH', k_pending, id)
  announce()
end

local function is_finished(status)
  return status == 'complete' or status == 'succeeded' or status == 'failed'
end

-- The word for a task's end goes with a list as released; the design note has no lists for ends.
local function finish(id, is_good, field, text)
  local word = is_good and (is_document and 'succeeded' or 'complete') or 'failed'
  redis.call('HSET', k_task(id), 'status', word, field, text, 'updated', now)
  if not is_document then
    redis.call('LPUSH', is_good and k_complete or k_failed, id)
  end
end

-- Score 0: declared lost, by one of us. It is forgotten when its last task is found a place.
local function is_alive(listener)
  local beat = redis.call('ZSCORE', k_beats, listener)
  return beat and tonumber(beat) > now_ms
end

local function is_welcome(listener)
  local beat = redis.call('ZSCORE', k_beats, listener)
  return beat and tonumber(beat) > 0
end

-- A listener holds a task: reserved as released, started at once by the design note.
local function hold(id, listener, pid, ticket)
  redis.call('LPUSH', k_reserved(listener), id)
  if is_document then
    redis.call('SADD', k_started, listener .. ' ' .. pid .. ' ' .. id)
    redis.call('HSET', k_task(id), 'status', 'started', 'worker', listener .. ' ' .. pid,
      'updated', now, 'queue', queue, 'ticket', ticket)
  else
    redis.call('HSET', k_task(id), 'status', 'reserved', 'node', listener, 'updated', now,
      'ticket', ticket)
    redis.call('HDEL', k_task(id), 'pid', 'reclaimed_node')
  end
end

local function told(id)
  return { 'task', id, redis.call('HGETALL', k_task(id)) }
end
