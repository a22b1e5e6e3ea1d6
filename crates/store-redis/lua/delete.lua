-- delete: deletes finished jobs and the tombstones of their ids and unique keys.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting plan limit lease tombstone finish byte_order filter group/page scan change
-- flags: allow-oom
-- args: call slot and number; `ids`, count, ids; or `key`, unique key; or `scan` and a filter (read_filter in lib/filter)
-- reply: next cursor (empty: done), the number of jobs examined (0 unless it scanned); then per job its id and a result: done, will_stop, not_found, `conflict ID`, or the state that does not allow it
local KEYS_OF = { succeeded = k_succeeded, dead = k_dead, cancelled = k_cancelled }

local function delete(id, state, opts)
  if state and not KEYS_OF[state] then
    return state
  elseif state then
    delete_job(id, state, KEYS_OF[state])
    -- Another job may hold the key by now.
    local key = opts[UNIQUE_KEY]
    local _, holder = remembered_key(key or '')
    if holder == id then
      drop_tombstone(HELD_KEY .. key)
    end
  elseif not remembered(id, redis.call('HGET', k_tombstones, id)) then
    return 'not_found'
  end
  drop_tombstone(id)
  is_changed = true
  return 'done'
end

-- Frees a key that is held after its job ended, and deletes the job if it is stored. Returns its id.
local function free_key(key)
  local _, id = remembered_key(key)
  if id then
    drop_tombstone(HELD_KEY .. key)
    is_changed = true
    local state = state_of(id)
    local opts = KEYS_OF[state] and load_opts(id)
    -- The id may be another job's by now.
    if opts and opts[UNIQUE_KEY] == key then
      delete(id, state, opts)
    end
  end
  return id
end

return change_target(delete, free_key)
