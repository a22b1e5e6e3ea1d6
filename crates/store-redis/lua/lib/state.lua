-- The state of a job.

-- Returns the state of a job and, if it is finished, its end record. Returns nil if the job is not stored.
local function state_of(id)
  if redis.call('HEXISTS', k_jobs, id) == 0 then
    return nil
  end
  if redis.call('HEXISTS', k_running, id) == 1 then
    return 'running'
  end
  local final = redis.call('HGET', k_final, id)
  if final then
    return string.match(final, '^%l+'), final
  end
  local due = redis.call('ZSCORE', k_scheduled, id)
  return due and (due == PENDING_SCORE and 'pending' or 'scheduled') or 'ready'
end
