-- schedule/change: pauses, resumes or deletes a schedule. A job that waits for the previous one is released by a deletion.
-- keys: state jobs opts ready suspects ghosts scheduled expiring leases owners schedules plans firing refilling names lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts group/record group/line group/place waiting plan
-- flags: allow-oom
-- args: call slot and number, name, `pause`, `resume` or `delete`
-- reply: a list with 1, or with 0 if there is no such schedule
local name, change = ARGV[3], ARGV[4]
local plan = load_plan(name)
if not has_schedules or redis.call('HEXISTS', k_schedules, name) == 0 then
  return { 0 }
end
if change == 'delete' then
  redis.call('HDEL', k_schedules, name)
  redis.call('HDEL', k_plans, name)
  redis.call('ZREM', k_firing, name)
  redis.call('ZREM', k_refilling, name)
  redis.call('ZREM', k_names, name)
  if redis.call('HLEN', k_schedules) == 0 then
    redis.call('HDEL', k_state, SCHEDULES_FIELD)
  end
  if plan and plan.waiting then
    release_pending(plan.waiting)
  end
elseif plan then
  plan.is_paused = change == 'pause'
  save_plan(plan)
end
is_changed = true
call_reply = { 1 }
commit()
return call_reply
