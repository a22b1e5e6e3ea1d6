-- Limits of the queue: how many jobs run at the same time, and how many are claimed per period. Claims check them, and
-- nothing else: a job that may not start stays ready.

local function ready_total()
  local total = grouped_ready()
  for priority = 0, PRIORITY_LAST do
    total = total + stats[READY + priority]
  end
  return total
end

-- How many more jobs may run.
local function free_slots()
  if rule(MAX_RUNNING) < 0 then
    return NEVER
  end
  -- The field with an empty name is no job.
  local running = redis.call('HLEN', k_running) - redis.call('HEXISTS', k_running, '')
  return math.max(0, rule(MAX_RUNNING) - running)
end

-- The rate: see `gcra`, and when the next claim would be on schedule (us). Only for a queue that has one.
local function read_rate()
  local interval, tolerance = gcra(rule(RATE_COUNT), rule(RATE_PERIOD), rule(BURST))
  return interval, tolerance, tonumber(redis.call('HGET', k_state, RATE_NEXT_FIELD) or 0)
end

local function allowed_by_rate()
  if rest_until > now then
    return 0
  elseif rule(RATE_COUNT) < 0 then
    return NEVER
  end
  local interval, tolerance, next_us = read_rate()
  local left = tolerance - math.max(0, next_us - now_us)
  return left < 0 and 0 or math.floor(left / interval) + 1
end

-- Counts claimed jobs.
local function count_claimed(jobs)
  if rule(RATE_COUNT) >= 0 then
    local interval, _, next_us = read_rate()
    redis.call('HSET', k_state, RATE_NEXT_FIELD, digits(math.max(next_us, now_us) + jobs * interval))
  end
end

-- When the rate or the end of a rest allows the next claim (ms), if ready jobs wait for that; else NEVER.
local function opening()
  local opens_us = rest_until * 1000
  if rule(RATE_COUNT) >= 0 then
    local _, tolerance, next_us = read_rate()
    opens_us = math.max(opens_us, next_us - tolerance)
  end
  if opens_us - now_us <= 0 or stats[PAUSED] == 1 or ready_total() == 0 then
    return NEVER
  end
  return math.ceil(opens_us / 1000)
end

-- How many waiters to wake: as many as ready jobs may start, of which `grouped` have a group (default: all). If the rate is
-- closed or the queue rests, one that learns when it opens.
local function startable(grouped)
  local ready = ready_total()
  ready = grouped and ready - grouped_ready() + grouped or ready
  if is_limited() or rest_until > now then
    return math.min(ready, free_slots(), math.max(1, allowed_by_rate()))
  end
  return ready
end
