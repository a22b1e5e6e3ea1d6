-- The registry: who is known and when each was last heard of, by a clock of its own that never runs backwards.
-- A record is four lines: command; STARTED TAB PID TAB NAME TAB HOST TAB VERSION; queues; what it runs. Lists have tabs between.
local SILENCE_MAX, FORGET_AFTER, STEP_BACK_MAX, PAGE = 60000, 86400000, 5000000, 500

local function whole(number)
  return string.format('%.0f', number)
end

-- A little behind the mark, the mark is used; further behind, the new time is believed.
local mark_us = tonumber(redis.call('GET', k_mark) or '') or 0
local now_us = clock_us
if clock_us < mark_us and mark_us - clock_us <= STEP_BACK_MAX then
  now_us = mark_us
end
local now = math.floor(now_us / 1000)

-- Begins a step that writes: moves the mark, and drops a page of those not heard of for very long. Only a clock that was
-- set back leaves anybody heard of later than now: these are cut to now, page by page.
local function begin()
  redis.call('SET', k_mark, whole(now_us))
  local late = redis.call('ZRANGEBYSCORE', k_seen, '(' .. whole(now), '+inf', 'LIMIT', 0, PAGE)
  for i = 1, #late do
    redis.call('ZADD', k_seen, whole(now), late[i])
  end
  local forgotten = redis.call('ZRANGEBYSCORE', k_seen, '-inf', whole(now - FORGET_AFTER), 'LIMIT', 0, PAGE)
  if #forgotten > 0 then
    redis.call('ZREM', k_seen, unpack(forgotten))
    redis.call('HDEL', k_workers, unpack(forgotten))
  end
end

-- The four parts of a worker's record, and when it was last heard of. Nothing when nobody knows it.
local function known(boot)
  local seen = tonumber(redis.call('ZSCORE', k_seen, boot) or '')
  local record = seen and seen > now - FORGET_AFTER and redis.call('HGET', k_workers, boot)
  local command, head, queues, running = string.match(record or '', '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
  return command and { command = command, head = head, queues = queues, running = running, seen = seen } or nil
end

local function write(boot, worker)
  redis.call('HSET', k_workers, boot, table.concat({ worker.command, worker.head, worker.queues, worker.running }, '\n'))
end
