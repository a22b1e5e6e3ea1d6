-- purge: removes up to a page of ready and scheduled jobs as if they had never been.
-- keys: state jobs opts errors ready suspects ghosts scheduled expiring unique running leases owners final sleepers wake hints
-- uses: stats notify opts state waiting
-- flags: allow-oom
-- args: none
-- reply: how many jobs were removed, and 1 when stale entries took up the whole step (ask again)
if not exists then
  return { 0, 0 }
end
local PAGE = 500
local removed, looked_at = {}, 0

-- The jobs of one list, and stale entries with them.
local function purge_list(priority)
  local entries = redis.call('LRANGE', k_ready[priority], 0, PAGE - looked_at - 1)
  for i = 1, #entries do
    local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
    id = id or entries[i]
    local ghost = f[GHOSTS] > 0 and redis.call('HGET', k_ghosts, id)
    local stale, highest = string.match(ghost or '', '^(%d+) (%d+)$')
    if stale and tonumber(generation or 0) <= tonumber(highest) then
      f[GHOSTS] = f[GHOSTS] - 1
      if tonumber(stale) > 1 then
        redis.call('HSET', k_ghosts, id, whole(tonumber(stale) - 1) .. ' ' .. highest)
      else
        redis.call('HDEL', k_ghosts, id)
      end
    else
      removed[#removed + 1] = id
      f[READY + priority] = f[READY + priority] - 1
    end
  end
  if #entries > 0 then
    looked_at = looked_at + #entries
    redis.call('LTRIM', k_ready[priority], #entries, -1)
    f[BASE + priority] = f[BASE + priority] + #entries
    is_dirty = true
  end
end

local function purge_zset(key)
  local ids = PAGE > looked_at and redis.call('ZRANGE', key, 0, PAGE - looked_at - 1) or {}
  for i = 1, #ids do
    removed[#removed + 1] = ids[i]
    if key == k_suspects then
      local priority = math.floor(tonumber(redis.call('ZSCORE', key, ids[i])) / LANE)
      f[READY + priority] = f[READY + priority] - 1
    end
  end
  if #ids > 0 then
    looked_at = looked_at + #ids
    redis.call('ZREM', key, unpack(ids))
  end
end

for priority = 0, 9 do
  if looked_at < PAGE then
    purge_list(priority)
  end
end
purge_zset(k_suspects)
purge_zset(k_scheduled)
for i = 1, #removed do
  local id = removed[i]
  local o = load_opts(id)
  if o.e then
    redis.call('ZREM', k_expiring, id)
  end
  if o.u and redis.call('HGET', k_unique, o.u) == id then
    redis.call('HDEL', k_unique, o.u)
  end
  f[BYTES] = f[BYTES] - redis.call('HSTRLEN', k_jobs, id) - redis.call('HSTRLEN', k_errors, id)
  redis.call('HDEL', k_jobs, id)
  redis.call('HDEL', k_opts, id)
  redis.call('HDEL', k_errors, id)
  is_changed = true
end
commit()
return { #removed, #removed == 0 and looked_at == PAGE and 1 or 0 }
