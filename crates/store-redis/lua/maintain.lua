-- maintain: promotes, reaps, expires and prunes, up to a limit of each, and drops stale entries.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap stale pick
-- flags: allow-oom
-- args: limit
-- reply: promoted, reaped, expired, pruned, forgotten, stale entries dropped
if not exists then
  return { 0, 0, 0, 0, 0, 0 }
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

local promoted = limit > 0 and promote_due(limit) or 0
local reaped, leases = reap(limit)
local expired = expire_waiting()
local pruned, forgotten = prune(limit)
local stale = drop_stale()
commit()
return { promoted, reaped, expired, pruned, forgotten + leases, stale }
