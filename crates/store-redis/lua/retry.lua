-- retry: makes dead jobs ready again, at the back, with attempts and expiries reset.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish byte_order scan change
-- flags: allow-oom
-- args: `ids`, how many, ids; or `key`, unique key; or `scan` and a scan (lib/scan)
-- reply: where to go on (empty: nowhere); then id and word of each: done, will_stop, not_found, `conflict ID`, or the state that forbids it
local function retry(id, state, o)
  if not state then
    return 'not_found'
  elseif state ~= 'dead' then
    return state
  end
  local holder = o.u and redis.call('HGET', k_unique, o.u)
  if holder then
    return 'conflict ' .. holder
  end
  forget(id, 'dead', k_dead)
  f[BYTES] = f[BYTES] - redis.call('HSTRLEN', k_errors, id)
  redis.call('HDEL', k_errors, id)
  if o.u then
    redis.call('HSET', k_unique, o.u, id)
  end
  redis.call('HDEL', k_tombstones, id)
  redis.call('ZREM', k_forgetting, id)
  o.a, o.x, o.e = nil, nil, nil
  o.d = whole(now)
  place_ready(id, o, false)
  save_opts(id, o)
  return 'done'
end

return change_target(retry)
