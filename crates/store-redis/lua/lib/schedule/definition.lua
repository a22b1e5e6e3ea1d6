-- The definitions of schedules, and the indexes of their instants.
local INSTANTS_LOW, INSTANTS_AHEAD_LOW = 32, 1382400000

-- Decodes a definition. Returns nil if it is unreadable.
local function decode_definition(text)
  local overlap, missed, catch_up, times, rest = string.match(text or '', '^(%l+) (%w+) (%d+) (%d*) [^\n]*\n()')
  local rule_end, spec_start = string.find(text or '', '\n\n', 1, true)
  local spec_end = rule_end and string.find(text, '\n\n', spec_start + 1, true)
  if not overlap or not spec_end then
    return nil
  end
  return {
    overlap = overlap,
    missed = missed,
    catch_up = tonumber(catch_up),
    times = tonumber(times),
    rule = string.sub(text, rest, rule_end - 1),
    spec = string.sub(text, spec_start + 1, spec_end),
    value = string.sub(text, spec_end + 1), -- of its jobs: an empty line and the payload
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
    forget_instants(plan)
    plan.known = NEVER
  end
end

-- When the first known instant of a plan fires; nil if it has none.
local function fires_at(plan)
  local seconds, jitter = string.match(plan.text, '^(%d+)%+?(%d*)', plan.at)
  return seconds and seconds * 1000 + (tonumber(jitter) or 0)
end

-- When a plan asks for more instants; nil: never.
local function next_refill(plan)
  if plan.known >= NEVER then
    return nil
  end
  return plan.count < INSTANTS_LOW and math.max(0, plan.known - INSTANTS_AHEAD_LOW) or plan.known + 1
end

-- Writes of many schedules, made at once: a command per key, with its arguments.
local BATCH_MAX = 400
local batch = {}

local function write_all()
  for key, args in pairs(batch) do
    redis.call(unpack(args))
    batch[key] = nil
  end
end

-- Adds to the batch. All writes to a key are of one command.
local function write_later(command, key, one, other)
  local args = batch[key] or { command, key }
  if #args > BATCH_MAX then
    write_all()
    args = { command, key }
  end
  batch[key] = args
  args[#args + 1] = one
  args[#args + 1] = other
end

-- Sets or removes the score of a schedule. The caller writes the batch.
local function index(key, name, score)
  if score then
    write_later('ZADD', key, score, name)
  else
    write_all()
    redis.call('ZREM', key, name)
  end
end

-- Saves a plan whose instants changed, and indexes them. The caller writes the batch.
local function save_instants(plan, refill_before)
  write_later('HSET', k_plans, plan.name, encode_plan(plan))
  is_changed = true
  local at, refill = fires_at(plan), next_refill(plan)
  index(k_firing, plan.name, at)
  need_full(at or NEVER)
  if refill ~= refill_before then
    index(k_refilling, plan.name, refill)
  end
end
