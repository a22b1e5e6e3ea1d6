-- maintain: promotes, reaps, expires and prunes, up to a limit of each.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap pick
-- flags: allow-oom
-- args: limit
-- reply: promoted, reaped, expired, pruned, forgotten
if not exists then
  return { 0, 0, 0, 0, 0 }
end
local limit = math.min(tonumber(ARGV[1]), PAGE)

-- Ends waiting jobs that did not start before they expired.
local function expire_waiting()
  if limit == 0 then
    return 0
  end
  local ids = redis.call('ZRANGEBYSCORE', k_expiring, '-inf', now, 'LIMIT', 0, limit)
  for i = 1, #ids do
    local state = state_of(ids[i])
    if state == 'ready' or state == 'scheduled' then
      expire(ids[i], load_opts(ids[i]), state)
    else
      redis.call('ZREM', k_expiring, ids[i])
    end
  end
  return #ids
end

-- Drops stale entries at the heads of the lists: nothing claims from them while the queue is paused.
local function drop_stale_heads()
  local room = stats[STALE_ENTRIES] > 0 and ENTRY_SCAN_MAX or 0
  for priority = 0, PRIORITY_LAST do
    local found = room > 0 and read_entries(priority, 0, room) or {}
    local stale = 0
    while found[stale + 1] and found[stale + 1].is_stale do
      stale = stale + 1
      drop_stale_entry(found[stale].id)
    end
    if stale > 0 then
      redis.call('LTRIM', k_ready[priority], stale, -1)
      stats[LIST_BASE + priority] = stats[LIST_BASE + priority] + stale
      is_dirty = true
    end
    room = room - #found
  end
end

local promoted = limit > 0 and promote_due(limit) or 0
local reaped, leases = reap(limit)
local expired = expire_waiting()
local pruned, forgotten = prune(limit)
drop_stale_heads()
commit()
return { promoted, reaped, expired, pruned, forgotten + leases }
