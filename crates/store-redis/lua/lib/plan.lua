-- The plan of a schedule: what changes at each of its instants. A job of a schedule that ends updates it here.
local PLAN = '^(%d+) ([01]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n()'
local plans = {} -- name -> plan that this call has read, or false

if has_schedules then
  check_schedule_types()
end

-- Returns nil if the text is unreadable. The instants and the history stay in it, since each copy of a long text takes Lua
-- time: the instants are from `at` to the line feed at `instants_end`, and the history is from `history_at` on, then
-- `added`. Numbers that only pass through stay text.
local function decode_plan(name, text)
  local revision, paused, created, settled, known, fired, missed, skipped, count, lines, current, waiting, last_end, at =
    string.match(text or '', PLAN)
  -- The other lines are long: a plain search is faster.
  local instants_end = at and string.find(text, '\n', at, true)
  return instants_end and {
    name = name,
    revision = revision,
    is_paused = paused == '1',
    created = created,
    settled = tonumber(settled),
    known = tonumber(known),
    fired = fired,
    missed = missed,
    skipped = skipped,
    count = tonumber(count), -- of instants
    lines = tonumber(lines), -- of the history
    current = current ~= '' and current or nil,
    waiting = waiting ~= '' and waiting or nil,
    last_end = last_end,
    text = text,
    at = at,
    instants_end = instants_end,
    history_at = instants_end + 1,
    added = '',
  }
end

-- Replaces the instants and the history.
local function set_instants(plan, instants, history)
  plan.text, plan.at, plan.instants_end, plan.history_at, plan.added = instants .. '\n' .. history, 1, #instants + 1, #instants + 2, ''
  plan.count = select(2, string.gsub(instants, ' ', ' '))
end

local function forget_instants(plan)
  plan.at, plan.count = plan.instants_end, 0
end

local function history_of(plan)
  return string.sub(plan.text, plan.history_at) .. plan.added
end

local function load_plan(name)
  if plans[name] == nil then
    plans[name] = has_schedules and decode_plan(name, redis.call('HGET', k_plans, name)) or false
  end
  return plans[name]
end

-- Loads several plans at once.
local function load_plans(names)
  local texts = redis.call('HMGET', k_plans, unpack(names))
  for i = 1, #names do
    if plans[names[i]] == nil then
      plans[names[i]] = decode_plan(names[i], texts[i]) or false
    end
  end
end

local function encode_plan(plan)
  local head = string.format('%s %d %s %d %d %s %s %s %d %d\n%s\n%s\n%s\n', plan.revision, plan.is_paused and 1 or 0,
    plan.created, plan.settled, plan.known, plan.fired, plan.missed, plan.skipped, plan.count, plan.lines,
    plan.current or '', plan.waiting or '', plan.last_end)
  if plan.history_at == plan.instants_end + 1 then
    return head .. string.sub(plan.text, plan.at) .. plan.added
  end
  return head .. string.sub(plan.text, plan.at, plan.instants_end) .. string.sub(plan.text, plan.history_at) .. plan.added
end

local function save_plan(plan)
  redis.call('HSET', k_plans, plan.name, encode_plan(plan))
  is_changed = true
end

-- The name of the schedule that enqueued a job.
local function schedule_of(id, opts)
  return opts[IS_SCHEDULED] and string.match(id, '^[^@]+')
end

-- Adds a job to the ready ones, or to the scheduled ones if it is due later. The caller saves the opts.
local function add_due(id, opts, due)
  if due > now then
    add_scheduled(id, opts, due)
  else
    add_ready(id, opts, false)
  end
end

-- Releases a pending job.
local function release_pending(id)
  if redis.call('ZSCORE', k_scheduled, id) == PENDING_SCORE then
    local opts = load_opts(id)
    redis.call('ZREM', k_scheduled, id)
    add_due(id, opts, tonumber(opts[DUE_AT] or opts[ENQUEUED_AT] or now))
    save_opts(id, opts)
  end
end

-- Records that a job ended in a state or, without one, was purged; releases the job that waits for its end.
local function end_in_schedule(id, opts, state)
  local plan = has_schedules and opts[IS_SCHEDULED] and load_plan(schedule_of(id, opts))
  if not plan or (plan.current ~= id and plan.waiting ~= id) then
    return
  end
  if plan.waiting == id then
    plan.waiting = nil
  end
  local is_current = plan.current == id
  if is_current then
    plan.last_end = state and state .. ' ' .. digits(now) .. ' ' .. id or plan.last_end
    plan.current, plan.waiting = plan.waiting, nil
  end
  save_plan(plan)
  if is_current and plan.current then
    release_pending(plan.current)
  end
end
