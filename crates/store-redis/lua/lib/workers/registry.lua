-- The registry of workers and when each was last seen, by a separate clock that never goes backwards.
-- A record has four lines: command; STARTED TAB PID TAB NAME TAB HOST TAB VERSION; queues; running jobs. Lists are separated by tabs.
local SILENCE_MAX, FORGET_AFTER, STEP_BACK_MAX, PAGE = 60000, 86400000, 5000000, 500

local function digits(number)
  return string.format('%.0f', number)
end

-- If the clock is slightly behind the mark, use the mark; if it is further behind, the clock was set back: use the clock.
local mark_us = tonumber(redis.call('GET', k_mark) or '') or 0
local now_us = clock_us
if clock_us < mark_us and mark_us - clock_us <= STEP_BACK_MAX then
  now_us = mark_us
end
local now = math.floor(now_us / 1000)

-- Starts a call that writes: advances the mark and drops a page of workers not seen for a long time. Workers seen later
-- than now, which happens only after the clock was set back, are moved to now, page by page.
local function begin_write()
  redis.call('SET', k_mark, digits(now_us))
  local late = redis.call('ZRANGEBYSCORE', k_seen, '(' .. digits(now), '+inf', 'LIMIT', 0, PAGE)
  for i = 1, #late do
    redis.call('ZADD', k_seen, digits(now), late[i])
  end
  local forgotten = redis.call('ZRANGEBYSCORE', k_seen, '-inf', digits(now - FORGET_AFTER), 'LIMIT', 0, PAGE)
  if #forgotten > 0 then
    redis.call('ZREM', k_seen, unpack(forgotten))
    redis.call('HDEL', k_workers, unpack(forgotten))
  end
end

-- Returns the four lines of a worker's record and when it was last seen, or nil if the worker is unknown.
local function known_worker(boot)
  local seen = tonumber(redis.call('ZSCORE', k_seen, boot) or '')
  local record = seen and seen > now - FORGET_AFTER and redis.call('HGET', k_workers, boot)
  local command, head, queues, running = string.match(record or '', '^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
  return command and { command = command, head = head, queues = queues, running = running, seen = seen } or nil
end

local function write_worker(boot, worker)
  redis.call('HSET', k_workers, boot, table.concat({ worker.command, worker.head, worker.queues, worker.running }, '\n'))
end
