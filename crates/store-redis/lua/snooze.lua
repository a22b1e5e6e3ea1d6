-- snooze: reschedules claimed jobs without counting the attempt.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans sleepers wake hints
-- uses: stats notify opts state waiting plan lease tombstone finish outcome
-- flags: allow-oom
-- args: count; id, token and due time (MS, or +MS from now) per job
-- reply: statuses (snoozed, cancelled, lease_lost, gone) separated by spaces
local REPEATABLE = { snoozed = true, cancelled = true }

local function snooze_one(id, token, due)
  local lease = lease_of(id, token)
  if not lease then
    return repeated_status(id, token, REPEATABLE)
  end
  local opts = load_reported_opts(id)
  if is_asked_to_stop(id, token) then
    return cancel_stopped(id, opts, lease)
  end
  leave_claim(id, token, 'snoozed')
  add_scheduled(id, opts, resolve(due))
  save_opts(id, opts)
  return 'snoozed'
end

return apply_outcomes(3, function(at)
  return snooze_one(ARGV[at], ARGV[at + 1], ARGV[at + 2])
end)
