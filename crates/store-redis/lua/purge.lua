-- purge: removes up to a page of ready and scheduled jobs without a record.
-- keys: state jobs opts errors ready suspects ghosts scheduled expiring unique running leases owners final sleepers wake hints
-- uses: stats call notify opts state waiting
-- flags: allow-oom
-- args: call slot and number
-- reply: number of jobs removed, and 1 if only stale entries were read (call again)
if not exists then
  return { 0, 0 }
end
local PAGE = 500
local removed, scanned = {}, 0

-- Removes the jobs and stale entries of one list.
local function purge_list(priority)
  local entries = redis.call('LRANGE', k_ready[priority], 0, PAGE - scanned - 1)
  for i = 1, #entries do
    local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
    id = id or entries[i]
    local stale_record = stats[STALE_ENTRIES] > 0 and redis.call('HGET', k_ghosts, id)
    local stale, highest = string.match(stale_record or '', '^(%d+) (%d+)$')
    if stale and tonumber(generation or 0) <= tonumber(highest) then
      stats[STALE_ENTRIES] = stats[STALE_ENTRIES] - 1
      if tonumber(stale) > 1 then
        redis.call('HSET', k_ghosts, id, digits(tonumber(stale) - 1) .. ' ' .. highest)
      else
        redis.call('HDEL', k_ghosts, id)
      end
    else
      removed[#removed + 1] = id
      stats[READY + priority] = stats[READY + priority] - 1
    end
  end
  if #entries > 0 then
    scanned = scanned + #entries
    redis.call('LTRIM', k_ready[priority], #entries, -1)
    stats[LIST_BASE + priority] = stats[LIST_BASE + priority] + #entries
    is_dirty = true
  end
end

local function purge_zset(key)
  local ids = PAGE > scanned and redis.call('ZRANGE', key, 0, PAGE - scanned - 1) or {}
  for i = 1, #ids do
    removed[#removed + 1] = ids[i]
    if key == k_suspects then
      local priority = math.floor(tonumber(redis.call('ZSCORE', key, ids[i])) / SUSPECT_LANE)
      stats[READY + priority] = stats[READY + priority] - 1
    end
  end
  if #ids > 0 then
    scanned = scanned + #ids
    redis.call('ZREM', key, unpack(ids))
  end
end

for priority = 0, PRIORITY_LAST do
  if scanned < PAGE then
    purge_list(priority)
  end
end
purge_zset(k_suspects)
purge_zset(k_scheduled)
for i = 1, #removed do
  local id = removed[i]
  local opts = load_opts(id)
  if opts[EXPIRES_AT] then
    redis.call('ZREM', k_expiring, id)
  end
  if opts[UNIQUE_KEY] and redis.call('HGET', k_unique, opts[UNIQUE_KEY]) == id then
    redis.call('HDEL', k_unique, opts[UNIQUE_KEY])
  end
  stats[BYTES] = stats[BYTES] - redis.call('HSTRLEN', k_jobs, id) - redis.call('HSTRLEN', k_errors, id)
  redis.call('HDEL', k_jobs, id)
  redis.call('HDEL', k_opts, id)
  redis.call('HDEL', k_errors, id)
  is_changed = true
end
call_reply = { #removed, #removed == 0 and scanned == PAGE and 1 or 0 }
commit()
return call_reply
