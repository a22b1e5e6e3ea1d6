-- audit/schedules: checks schedules, their plans and indexes, and that a schedule waits for each pending job.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting schedules plans firing refilling names lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan schedule/definition audit/report audit/validate audit/opts audit/schedule
-- flags: allow-oom
-- args: name of the key, or `pending`; cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local stage, cursor = ARGV[1], ARGV[2]
local COUNT = 100
has_schedules = true

local function check_score(key, name, score)
  local before = redis.call('ZSCORE', key, name)
  if (before and tonumber(before) or nil) ~= score then
    index(key, name, score)
    report('schedule_not_indexed', nil, name)
  end
end

local function drop_schedule(name)
  local plan = load_plan(name)
  redis.call('HDEL', k_schedules, name)
  redis.call('HDEL', k_plans, name)
  for _, key in ipairs({ k_firing, k_refilling, k_names }) do
    redis.call('ZREM', key, name)
  end
  if plan and plan.waiting then
    release_pending(plan.waiting)
  end
  report('schedule_unreadable', nil, name)
end

local function check_schedule(name, definition)
  if not is_schedule_name(name) or not is_definition(definition) then
    return drop_schedule(name)
  end
  local before = redis.call('HGET', k_plans, name)
  local plan = corrected_plan(name, before)
  plans[name] = plan
  if encode_plan(plan) ~= before then
    save_plan(plan)
    if plan.current then
      release_pending(plan.current)
    end
    report('schedule_state_wrong', nil, name)
  end
  check_score(k_firing, name, fires_at(plan))
  check_score(k_refilling, name, next_refill(plan))
  check_score(k_names, name, 0)
end

-- No schedule may be unknown to the other scripts, which look at this field first.
local function check_field()
  local has_any = redis.call('HLEN', k_schedules) > 0
  if has_any ~= (stored[3] and true or false) then
    if has_any then
      redis.call('HSET', k_state, SCHEDULES_FIELD, '1')
    else
      redis.call('HDEL', k_state, SCHEDULES_FIELD)
    end
    report('schedule_not_indexed', nil, 'state')
  end
end

local KEYS_OF = { plans = k_plans, firing = k_firing, refilling = k_refilling, names = k_names }
local next_at
if stage == 'schedules' then
  next_at = scan_page(k_schedules, 'hash', cursor, COUNT, check_schedule)
  if next_at == '' then
    check_field()
  end
elseif stage == 'pending' then
  next_at = scan_page(k_scheduled, 'zset', cursor, COUNT, function(id, score)
    local plan = score == PENDING_SCORE and load_plan(schedule_of(id, load_opts(id)) or '')
    if score == PENDING_SCORE and not (plan and plan.waiting == id) then
      release_pending(id)
      report('pending_alone', id)
    end
  end)
else
  local kind = stage == 'plans' and 'hash' or 'zset'
  next_at = scan_page(KEYS_OF[stage], kind, cursor, COUNT, function(name)
    if redis.call('HEXISTS', k_schedules, name) == 0 then
      redis.call(kind == 'hash' and 'HDEL' or 'ZREM', KEYS_OF[stage], name)
      report('without_schedule', nil, stage)
    end
  end)
end
write_all()
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
