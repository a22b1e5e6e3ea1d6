-- delete: deletes finished jobs and the tombstones of their ids.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans sleepers wake hints
-- uses: stats call notify opts state waiting plan lease finish byte_order filter scan change
-- flags: allow-oom
-- args: call slot and number; `ids`, count, ids; or `key`, unique key; or `scan` and a filter (read_filter in lib/scan)
-- reply: next cursor (empty: done); then per job its id and a result: done, will_stop, not_found, `conflict ID`, or the state that does not allow it
local KEYS_OF = { succeeded = k_succeeded, dead = k_dead, cancelled = k_cancelled }

local function delete(id, state)
  if state and not KEYS_OF[state] then
    return state
  elseif state then
    delete_job(id, state, KEYS_OF[state])
  else
    local until_ms = string.match(redis.call('HGET', k_tombstones, id) or '', ' (%d+)$')
    if not until_ms or tonumber(until_ms) <= now then
      return 'not_found'
    end
  end
  redis.call('HDEL', k_tombstones, id)
  redis.call('ZREM', k_forgetting, id)
  is_changed = true
  return 'done'
end

return change_target(delete)
