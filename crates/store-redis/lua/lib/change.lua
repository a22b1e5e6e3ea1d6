-- Doing one thing to every job of a target: ids, the holder of a unique key, or a page of those that have something in common.

-- `change(id, state, o, final)` answers a word: done, will_stop, not_found, conflict ID, or the state that forbids it.
local function change_one(id, change)
  local state, final = state_of(id)
  local o = state and load_opts(id) or {}
  return change(id, state, o, final)
end

-- Arguments: `ids` and the ids; `key` and the unique key; `scan` and what scan takes.
-- Reply: where to go on (empty: nowhere); then id, word of each.
local function change_target(change)
  local kind = ARGV[1]
  local reply = { '' }
  local function meet(id)
    reply[#reply + 1] = id
    reply[#reply + 1] = change_one(id, change)
  end
  if kind == 'ids' then
    for i = 3, 2 + tonumber(ARGV[2]) do
      if exists then
        meet(ARGV[i])
      else
        reply[#reply + 1] = ARGV[i]
        reply[#reply + 1] = 'not_found'
      end
    end
  elseif kind == 'key' then
    local id = exists and redis.call('HGET', k_unique, ARGV[2])
    if id then
      meet(id)
    else
      reply[2], reply[3] = '', 'not_found'
    end
  elseif exists then
    local ids, next_at = scan(read_scan(2))
    for i = 1, #ids do
      meet(ids[i])
    end
    reply[1] = next_at
  end
  if exists then
    close_claims()
    prune_step()
    commit()
  end
  return reply
end
