-- schedule/put: creates a schedule or changes it; an identical one changes nothing.
-- keys: state jobs opts ready suspects ghosts scheduled expiring leases owners schedules plans firing refilling names lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts group/record group/line group/place waiting plan schedule/definition
-- flags:
-- args: call slot and number, name, definition, 1 to pause it or 0 to resume it (empty: neither), number of partitions the caller knows of
-- reply: `absent` if the queue does not exist; `moved N` if it has N partitions; else a list: `full` if there are too many schedules; or `created`, `changed` or `same`, then, if it needs instants, its revision, the time until which it is settled, and now
local SCHEDULES_MAX = 10000
local name, definition, paused = ARGV[3], ARGV[4], ARGV[5]
if not exists then
  return 'absent'
elseif stats[PARTITIONS] ~= tonumber(ARGV[6]) then
  return 'moved ' .. stats[PARTITIONS]
end
-- A queue without schedules may have keys of the wrong type.
check_schedule_types()
local before = redis.call('HGET', k_schedules, name)
if not before and redis.call('HLEN', k_schedules) >= SCHEDULES_MAX then
  return { 'full' }
end
has_schedules = true
local plan = load_plan(name)
local result = plan and 'same' or 'created'
if not plan then
  plan = {
    name = name, is_paused = false, created = digits(now), settled = now, fired = 0, missed = 0, skipped = 0, lines = 0,
    last_end = '',
  }
  set_instants(plan, '', '')
end
if paused ~= '' and plan.is_paused ~= (paused == '1') then
  plan.is_paused = paused == '1'
  result = result == 'same' and 'changed' or result
end
if before ~= definition or not plan.revision then
  result = result == 'same' and 'changed' or result
  -- Tokens and revisions share a counter: neither repeats in a queue.
  stats[LAST_TOKEN] = math.max(now_us, stats[LAST_TOKEN] + 1)
  plan.revision = digits(stats[LAST_TOKEN])
  plan.settled = math.max(plan.settled, now)
  forget_instants(plan)
  plan.known = plan.settled
  end_after_last_time(plan, decode_definition(definition))
  redis.call('HSET', k_schedules, name, definition)
  redis.call('ZADD', k_names, 0, name)
  redis.call('HSET', k_state, SCHEDULES_FIELD, '1')
  save_instants(plan, false)
elseif result == 'changed' then
  save_plan(plan)
end
-- What is the same must have reached the replicas too: WAIT needs a write to wait for.
is_dirty = true
write_all()
call_reply = { result }
local refill = next_refill(plan)
if refill and refill <= now then
  call_reply = { result, plan.revision, digits(plan.settled), digits(now) }
end
commit()
return call_reply
