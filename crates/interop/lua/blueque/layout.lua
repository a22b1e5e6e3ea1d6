-- layout: common start of all Blueque scripts: keys, helpers for both layouts, the time.
-- keys: pending scheduled started complete failed listeners queues heartbeats
-- args: prefix (`blueque`: released layout, `bluequeue`: document layout), queue; the script's arguments start at ARGV[3]
local k_pending, k_scheduled, k_started, k_complete = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local k_failed, k_listeners, k_queues, k_heartbeats = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local prefix, queue = ARGV[1], ARGV[2]
local is_document = prefix == 'bluequeue'

-- A script must not fail halfway through its writes: these calls fail first if a key has the wrong type.
redis.call('LLEN', k_pending)
redis.call('ZCARD', k_scheduled)
redis.call('SCARD', k_started)
redis.call('LLEN', k_complete)
redis.call('LLEN', k_failed)
redis.call('SCARD', k_listeners)
redis.call('ZCARD', k_queues)
redis.call('ZCARD', k_heartbeats)

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

-- Wakes up waiting listeners. The message never names a task.
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

-- Ends a task. Only the released layout has lists of completed and failed tasks.
local function finish(id, is_good, field, text)
  local status = is_good and (is_document and 'succeeded' or 'complete') or 'failed'
  redis.call('HSET', k_task(id), 'status', status, field, text, 'updated', now)
  if not is_document then
    redis.call('LPUSH', is_good and k_complete or k_failed, id)
  end
end

-- Score 0: declared lost. The entry is removed once all tasks of the listener are recovered.
local function is_alive(listener)
  local alive_until = redis.call('ZSCORE', k_heartbeats, listener)
  return alive_until and tonumber(alive_until) > now_ms
end

-- False if the listener was declared lost.
local function is_registered(listener)
  local alive_until = redis.call('ZSCORE', k_heartbeats, listener)
  return alive_until and tonumber(alive_until) > 0
end

-- Gives a task to a listener: reserved in the released layout, started in the document layout.
local function assign(id, listener, pid, ticket)
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

local function task_reply(id)
  return { 'task', id, redis.call('HGETALL', k_task(id)) }
end
