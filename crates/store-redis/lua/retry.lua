-- retry: makes dead jobs ready again, at the back of their lists, with attempts and expiries reset.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting plan limit lease errors tombstone finish byte_order filter group/page scan change
-- flags: allow-oom
-- args: call slot and number; `ids`, count, ids; or `key`, unique key; or `scan` and a filter (read_filter in lib/filter)
-- reply: next cursor (empty: done), the number of jobs examined (0 unless it scanned); then per job its id and a result: done, will_stop, not_found, `conflict ID`, or the state that does not allow it
local function retry(id, state, opts)
  if not state then
    return 'not_found'
  elseif state ~= 'dead' then
    return state
  end
  local key = opts[UNIQUE_KEY]
  local holder = key and redis.call('HGET', k_unique, key)
  if key and not holder then
    local _, held_by = remembered_key(key)
    holder = held_by ~= id and held_by
  end
  if holder then
    return 'conflict ' .. holder
  end
  remove_end(id, 'dead', k_dead)
  local text = redis.call('HGET', k_errors, id)
  local last, records = errors_lib.read(text)
  errors_lib.write(id, text, errors_lib.replace(last, records, nil), records)
  if key then
    redis.call('HSET', k_unique, key, id)
    drop_tombstone(HELD_KEY .. key)
  end
  drop_tombstone(id)
  opts[ATTEMPT], opts[EXPIRIES], opts[EXPIRES_AT] = nil, #records > 0 and '0' or nil, nil
  opts[DUE_AT] = digits(now)
  add_ready(id, opts, false)
  save_opts(id, opts)
  return 'done'
end

return change_target(retry)
