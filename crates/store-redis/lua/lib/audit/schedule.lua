-- Checks of schedules that may be damaged.
local OVERLAPS = { skip = true, allow = true, buffer = true, cancel = true }
local SKIPS = { missed = true, overlap = true, paused = true, duplicate = true }
local TEXT_MAX, PERIOD_MAX, JITTER_MAX, CAUGHT_UP_MAX = 200, 3153600000000, 86400000, 32

local function is_schedule_name(text)
  return #text > 0 and #text <= 100 and not string.find(text, '[^%w%._:%-]')
end

local function is_rule_text(text)
  return #text <= TEXT_MAX and is_plain_text(text)
end

local function is_seconds(text, most)
  return is_number(text, most) and tonumber(text) % 1000 == 0
end

local function is_rule(text)
  local pattern, zone, rest = string.match(text, '^cron=([^\n]+)\nzone=([^\n]+)(.*)$')
  local is_valid = pattern and is_rule_text(pattern) and is_rule_text(zone)
  if not pattern then
    local period, anchor
    period, anchor, rest = string.match(text, '^every=(%d+)\nanchor=(%d+)(.*)$')
    is_valid = period and is_seconds(period, PERIOD_MAX) and tonumber(period) > 0 and is_seconds(anchor)
  end
  for name, number in string.gmatch(rest or '', '\n(%l+)=(%d+)') do
    is_valid = is_valid and is_number(number, name == 'jitter' and JITTER_MAX or nil)
  end
  rest = string.gsub(string.gsub(rest or '', '^\njitter=%d+', ''), '^\nfrom=%d+', '')
  return is_valid and string.gsub(rest, '^\nuntil=%d+', '') == ''
end

-- The spec of a job whose times are delays.
local function is_spec(text)
  local others, is_valid = {}, string.sub(text, 1, 2) == CUSTOM_ID .. '\n'
  for line in string.gmatch(text, '([^\n]*)\n') do
    local letter = string.sub(line, 1, 1)
    if letter == DUE_AT or letter == DEADLINE or letter == EXPIRES_AT then
      is_valid = is_valid and is_number(string.match(line, '^%l%+(%d+)$'))
    else
      others[#others + 1] = line .. '\n'
    end
  end
  local _, is_complete = decode_valid_opts(table.concat(others))
  return is_valid and is_complete
end

local function is_definition(text)
  local definition = decode_definition(text)
  local times, set = string.match(text, '^%l+ %w+ %d+ (%d*) ([^\n]*)\n')
  return definition and OVERLAPS[definition.overlap]
    and (definition.missed == 'skip' or definition.missed == 'last' or is_number(definition.missed, CAUGHT_UP_MAX))
    and is_number(digits(definition.catch_up)) and (times == '' or is_number(times))
    and is_plain_text(set) and is_rule(definition.rule) and is_spec(definition.spec)
end

-- Whether instants are readable and in order.
local function are_instants(text)
  local last, length = -1, 0
  for instant in string.gmatch(text, '([^ ]*) ') do
    local seconds, jitter = string.match(instant, '^(%d+)%+(%d+)$')
    seconds = seconds or instant
    if not is_number(seconds, NEVER / 1000) or not is_number(jitter or '0', JITTER_MAX) or tonumber(seconds) <= last then
      return false
    end
    last, length = tonumber(seconds), length + #instant + 1
  end
  return length == #text
end

-- The readable lines of a history.
local function valid_history(name, text)
  local lines = {}
  for line in string.gmatch(text, '([^\n]*)\n') do
    local seconds, at, what = string.match(line, '^(%d+) (%d+) (.*)$')
    local nonce = string.match(what or '', '^run (.*)$')
    local is_known = what == 'fired' or SKIPS[what] or nonce and is_name(name .. '@run-' .. nonce)
    if is_known and is_number(seconds, NEVER / 1000) and is_number(at) then
      lines[#lines + 1] = line .. '\n'
    end
  end
  return table.concat(lines)
end

local function is_last_end(text)
  local state, at, id = string.match(text, '^(%l+) (%d+) (.*)$')
  return text == '' or KEEP[state] and is_number(at) and is_name(id)
end

-- Whether a job of a schedule is in one of these states.
local function is_job_of(plan, id, states)
  local opts = id and is_name(id) and states[state_of(id) or ''] and load_opts(id)
  return opts and schedule_of(id, opts) == plan.name
end

-- A plan for a schedule that lost it: it waits for a refill.
local function new_plan(name)
  stats[LAST_TOKEN] = math.max(now_us, stats[LAST_TOKEN] + 1)
  local plan = {
    name = name, revision = digits(stats[LAST_TOKEN]), is_paused = false, created = digits(now), settled = now, known = now,
    fired = 0, missed = 0, skipped = 0, lines = 0, last_end = '',
  }
  set_instants(plan, '', '')
  return plan
end

-- The plan of a schedule, with its invalid parts corrected.
local function corrected_plan(name, text)
  local plan = decode_plan(name, text) or new_plan(name)
  for number in string.gmatch(string.match(text or '', '^[^\n]*'), '%d+') do
    plan = is_number(number) and plan or new_plan(name)
  end
  local instants, history = string.sub(plan.text, plan.at, plan.instants_end - 1), valid_history(name, history_of(plan))
  if not are_instants(instants) then
    instants, plan.known = '', plan.settled
  end
  set_instants(plan, instants, history)
  plan.last_end = is_last_end(plan.last_end) and plan.last_end or ''
  plan.lines = select(2, string.gsub(history, '\n', '\n'))
  if not is_job_of(plan, plan.waiting, { pending = true }) then
    plan.waiting = nil
  end
  if not is_job_of(plan, plan.current, { ready = true, scheduled = true, running = true }) then
    plan.current, plan.waiting = plan.waiting, nil
  end
  return plan
end
