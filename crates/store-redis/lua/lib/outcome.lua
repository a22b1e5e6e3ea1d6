-- Shared by the verbs that report outcomes one by one.

-- Ends a job with a cancel request as cancelled, whatever outcome was reported.
local function cancel_stopped(id, opts, lease)
  leave_claim(id, lease.token, 'cancelled', opts)
  end_cancelled(id, opts, lease.bytes, issued_at(lease.token))
  return 'cancelled'
end

-- Applies outcomes of `args_per_job` arguments each; the first argument is their count. `finally`, optional, runs once after
-- all of them.
local function apply_outcomes(args_per_job, apply, finally)
  local statuses = {}
  for i = 1, tonumber(ARGV[1]) do
    statuses[i] = exists and apply(2 + args_per_job * (i - 1)) or 'gone'
  end
  if exists then
    if finally then
      finally()
    end
    close_claims()
    prune_after_end()
    commit()
  end
  return table.concat(statuses, ' ')
end
