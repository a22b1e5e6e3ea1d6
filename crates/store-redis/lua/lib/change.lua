-- Applies a change to every job of a target: ids, the holder of a unique key, or a page of jobs that match a filter.

-- `change(id, state, opts, final)` returns done, will_stop, not_found, conflict ID, or the state that does not allow it.
local function change_one(id, change)
  local state, final = state_of(id)
  local opts = state and load_opts(id) or {}
  return change(id, state, opts, final)
end

-- Arguments after those of `call`: `ids`, count and ids; `key` and the unique key; `scan` and a filter.
-- `free_key` frees a key that no live job holds and returns the id of the job that did. Reply: next cursor (empty: done),
-- the number of jobs examined; then id and result per job.
local function change_target(change, free_key)
  local kind = ARGV[3]
  local reply = { '', 0 }
  local function apply(id)
    reply[#reply + 1] = id
    reply[#reply + 1] = change_one(id, change)
  end
  if kind == 'ids' then
    for i = 5, 4 + tonumber(ARGV[4]) do
      if exists then
        apply(ARGV[i])
      else
        reply[#reply + 1] = ARGV[i]
        reply[#reply + 1] = 'not_found'
      end
    end
  elseif kind == 'key' then
    local id = exists and redis.call('HGET', k_unique, ARGV[4])
    if id then
      apply(id)
    else
      local freed = exists and free_key and free_key(ARGV[4])
      reply[3], reply[4] = freed or '', freed and 'done' or 'not_found'
    end
  elseif exists then
    local ids, next_at, scanned = scan(read_filter(4))
    for i = 1, #ids do
      apply(ids[i])
    end
    reply[1], reply[2] = next_at, scanned
  end
  if exists then
    close_claims()
    prune_after_end()
    call_reply = reply
    commit()
  end
  return reply
end
