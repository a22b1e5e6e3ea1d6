-- Limits of the queue: how many jobs run at the same time, and how many are claimed per period. Claims check them, and
-- nothing else: a job that may not start stays ready.

local function ready_total()
  local total = 0
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

-- The rate by GCRA: the time between two claims on schedule, how far ahead of it a claim may be, and when the next one
-- would be on schedule, all in us. Only for a queue that has one.
local function read_rate()
  local burst = math.max(1, math.min(rule(BURST), rule(RATE_COUNT)))
  local interval = math.ceil(rule(RATE_PERIOD) / (rule(RATE_COUNT) - burst + 1))
  return interval, (burst - 1) * interval, tonumber(redis.call('HGET', k_state, RATE_NEXT_FIELD) or 0)
end

local function allowed_by_rate()
  if rule(RATE_COUNT) < 0 then
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

-- When the rate allows the next claim (ms), if ready jobs wait for that; else NEVER.
local function opening()
  if rule(RATE_COUNT) < 0 or stats[PAUSED] == 1 or ready_total() == 0 then
    return NEVER
  end
  local _, tolerance, next_us = read_rate()
  local opens_us = next_us - tolerance
  return opens_us - now_us > 0 and math.ceil(opens_us / 1000) or NEVER
end

-- How many waiters to wake: as many as ready jobs may start. If the rate is closed, one that learns when it opens.
local function startable()
  local ready = ready_total()
  return is_limited() and math.min(ready, free_slots(), math.max(1, allowed_by_rate())) or ready
end
