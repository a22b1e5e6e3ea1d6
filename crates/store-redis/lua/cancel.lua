-- cancel: cancels waiting jobs; asks running ones to stop.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish byte_order scan change
-- flags: allow-oom
-- args: `ids`, how many, ids; or `key`, unique key; or `scan` and a scan (lib/scan)
-- reply: where to go on (empty: nowhere); then id and word of each: done, will_stop, not_found, `conflict ID`, or the state that forbids it
local function cancel(id, state, o)
  if not state then
    return 'not_found'
  elseif state == 'ready' or state == 'scheduled' then
    local bytes = redis.call('HSTRLEN', k_jobs, id)
    unplace(id, o, state)
    end_cancelled(id, o, bytes, nil)
    return 'done'
  elseif state == 'running' then
    local hold = read_hold(redis.call('HGET', k_running, id))
    local open = open_claim(hold.token)
    if open then
      redis.call('ZADD', k_stopping, 0, open.owner .. '\t' .. id)
    end
    announce_cancel(id)
    is_changed = true
    return 'will_stop'
  end
  return state
end

return change_target(cancel)
