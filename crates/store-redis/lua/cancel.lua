-- cancel: cancels waiting jobs and asks running ones to stop.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats call notify opts state waiting lease finish byte_order filter scan change
-- flags: allow-oom
-- args: call slot and number; `ids`, count, ids; or `key`, unique key; or `scan` and a filter (read_filter in lib/scan)
-- reply: next cursor (empty: done); then per job its id and a result: done, will_stop, not_found, `conflict ID`, or the state that does not allow it
local function cancel(id, state, opts)
  if not state then
    return 'not_found'
  elseif state == 'ready' or state == 'scheduled' then
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

return change_target(cancel)
