-- promote: makes scheduled and pending jobs ready now, at the back of their lists.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting plan limit lease tombstone finish byte_order filter group/page scan change
-- flags: allow-oom
-- args: call slot and number; `ids`, count, ids; or `key`, unique key; or `scan` and a filter (read_filter in lib/filter)
-- reply: next cursor (empty: done), the number of jobs examined (0 unless it scanned); then per job its id and a result: done, will_stop, not_found, `conflict ID`, or the state that does not allow it
local function promote(id, state, opts)
  if not state then
    return 'not_found'
  elseif state ~= 'scheduled' and state ~= 'pending' then
    return state
  end
  local plan = state == 'pending' and load_plan(schedule_of(id, opts) or '')
  if plan then
    plan.current, plan.waiting = id, nil
    save_plan(plan)
  end
  promote_one(id, opts, now)
  return 'done'
end

return change_target(promote)
