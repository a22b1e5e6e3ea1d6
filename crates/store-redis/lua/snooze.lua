-- snooze: postpones claimed jobs, their groups or the queue, without counting the attempt.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit lease errors attempts tombstone finish reap outcome byte_order requeue
-- flags: allow-oom
-- args: count; id, token, due time (MS, or +MS from now) and scope (`job`, SCOPE_GROUP or SCOPE_QUEUE) per job
-- reply: statuses (snoozed, cancelled, lease_lost, gone) separated by spaces
local REPEATABLE = { snoozed = true, cancelled = true }


-- Lets the queue rest until a time, or the group.
local function rest(opts, scope, due)
  if scope == SCOPE_QUEUE then
    rest_until = math.max(rest_until, due)
    redis.call('HSET', k_state, REST_FIELD, digits(rest_until))
    need_full(0)
  else
    local group = group_lib.touch_group(opts[GROUP])
    group.rest_until = math.max(group.rest_until, due)
  end
end

local function snooze_one(id, token, due, scope)
  local lease = lease_of(id, token)
  if not lease then
    return repeated_status(id, token, REPEATABLE)
  end
  local opts = load_reported_opts(id)
  if is_asked_to_stop(id, token) then
    return cancel_stopped(id, opts, lease)
  end
  leave_claim(id, token, 'snoozed', opts)
  if scope == SCOPE_QUEUE or (scope == SCOPE_GROUP and opts[GROUP]) then
    rest(opts, scope, resolve(due))
    return_job(id, opts, lease)
  else
    add_scheduled(id, opts, resolve(due))
    save_opts(id, opts)
  end
  return 'snoozed'
end

return apply_outcomes(4, function(at)
  return snooze_one(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end, requeue_returned)
