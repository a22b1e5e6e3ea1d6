-- The definitions of schedules, and the indexes of their instants.
local INSTANTS_LOW, INSTANTS_AHEAD_LOW = 32, 1382400000

-- Decodes a definition. Returns nil if it is unreadable.
local function decode_definition(text)
  local overlap, missed, catch_up, times, rest = string.match(text or '', '^(%l+) (%w+) (%d+) (%d*) [^\n]*\n()')
  local rule_end, value_start = string.find(text or '', '\n\n', 1, true)
  if not overlap or not rule_end then
    return nil
  end
  local value = string.sub(text, value_start + 1)
  return {
    overlap = overlap,
    missed = missed,
    catch_up = tonumber(catch_up),
    times = tonumber(times),
    rule = string.sub(text, rest, rule_end - 1),
    spec = header_of(value),
    payload = string.sub(value, header_length(value) + 1),
  }
end

local function load_definition(name)
  return decode_definition(redis.call('HGET', k_schedules, name))
end

local function has_ended(plan, definition)
  return definition.times ~= nil and plan.fired - definition.times >= 0
end

-- Forgets the other instants of a schedule that fired as often as it may.
local function end_after_last_time(plan, definition)
  if has_ended(plan, definition) then
    plan.instants, plan.count, plan.known = '', 0, NEVER
  end
end

-- When the first known instant of a plan fires; nil if it has none.
local function fires_at(plan)
  local seconds, jitter = string.match(plan.instants, '^(%d+)%+?(%d*)')
  return seconds and seconds * 1000 + (tonumber(jitter) or 0)
end

-- When a plan asks for more instants; nil: never.
local function next_refill(plan)
  if plan.known >= NEVER then
    return nil
  end
  return plan.count < INSTANTS_LOW and math.max(0, plan.known - INSTANTS_AHEAD_LOW) or plan.known + 1
end

-- Sets or removes the score of a schedule.
local function index(key, name, score)
  if score then
    redis.call('ZADD', key, score, name)
  else
    redis.call('ZREM', key, name)
  end
end

-- Saves a plan whose instants changed, and indexes them.
local function save_instants(plan, refill_before)
  save_plan(plan)
  local at, refill = fires_at(plan), next_refill(plan)
  index(k_firing, plan.name, at)
  need_full(at or NEVER)
  if refill ~= refill_before then
    index(k_refilling, plan.name, refill)
  end
end
