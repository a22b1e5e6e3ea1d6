-- release: requeues claimed jobs in claim order without counting the attempt.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit lease errors attempts tombstone finish reap outcome byte_order requeue
-- flags: allow-oom
-- args: count; id and token per job
-- reply: statuses (released, cancelled, lease_lost, gone) separated by spaces
local REPEATABLE = { released = true, cancelled = true }

local function release_one(id, token)
  local lease = lease_of(id, token)
  if not lease then
    return repeated_status(id, token, REPEATABLE)
  end
  local opts = load_reported_opts(id)
  if is_asked_to_stop(id, token) then
    return cancel_stopped(id, opts, lease)
  end
  return_job(id, opts, lease)
  leave_claim(id, token, 'released', opts)
  return 'released'
end

return apply_outcomes(2, function(at)
  return release_one(ARGV[at], ARGV[at + 1])
end, requeue_returned)
