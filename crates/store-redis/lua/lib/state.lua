-- Where a job is.
local LANE = 1099511627776 -- 2^40: the room of one priority among the suspects

-- Where a job is: its state and, for a finished one, what is kept of its end. Nothing when it is not stored.
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
  if redis.call('ZSCORE', k_scheduled, id) then
    return 'scheduled'
  end
  return 'ready'
end
