-- Cancels a job: a waiting one ends, a running one is asked to stop.
local function cancel(id, state, opts)
  if not state then
    return 'not_found'
  elseif state == 'ready' or state == 'scheduled' or state == 'pending' then
    local bytes = payload_length(id)
    remove_waiting(id, opts, state)
    end_cancelled(id, opts, bytes, nil)
    return 'done'
  elseif state == 'running' then
    local lease = decode_lease(redis.call('HGET', k_running, id))
    local open = open_claim(lease.token)
    if open then
      redis.call('ZADD', k_stopping, 0, open.owner .. '\t' .. id)
      add_to_lease(id, lease)
    end
    announce_cancel(id)
    is_changed = true
    return 'will_stop'
  end
  return state
end
