-- audit/verify: decides what was doubted. Since it was marked all ready lists were walked, so what did not move was met as often as it stands there.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting audit/report audit/validate audit/opts audit/job audit/mark
-- flags: allow-oom
-- args: nonce of the audit; jobs or ghosts; how many; of each its id and where it was met (`PRIORITY:POSITION,…`), or how often
-- reply: as in lib/audit/report
if not exists or not is_latest(ARGV[1]) then
  return page_reply('')
end

-- The places of a job's own entry among those where it was met.
local function still_there(id, o, met)
  local found = {}
  for priority, position in string.gmatch(met, '(%d):(%-?%d+)') do
    local index = tonumber(position) - f[BASE + priority]
    local entry = index >= 0 and redis.call('LINDEX', k_ready[tonumber(priority)], index) or ''
    local generation, named = string.match(entry, '^\t(%d+)\t(.*)$')
    if (named or entry) == id and tonumber(generation or 0) == tonumber(o.g or 0) then
      found[#found + 1] = { priority = tonumber(priority), index = index }
    end
  end
  return found
end

local function settle_job(id, met)
  local o = state_of(id) == 'ready' and mended_opts(id)
  if not o or is_suspect(o) or not is_marked(o.g) then
    return
  end
  o.g = unmarked(o.g)
  local places = still_there(id, o, met)
  if met == '' then
    -- Ready it was before, so that it is counted.
    put_in_lane(id, o)
    local lane = READY + tonumber(o.p or 5)
    f[lane] = f[lane] - 1
    report('in_no_place', id)
    return
  end
  save_opts(id, o)
  -- The first is its turn.
  for i = 2, #places do
    blank_out(places[i].priority, places[i].index)
    report('entered_twice', id)
  end
end

local function settle_ghost(id, met)
  local ghost = redis.call('HGET', k_ghosts, id)
  if not is_marked(ghost) then
    return
  end
  local stale, generation = string.match(ghost, '^(%d+) (%d+)$')
  if tonumber(stale) ~= met then
    f[GHOSTS] = math.max(0, f[GHOSTS] + met - tonumber(stale))
    report('ghosts_miscounted', id, 'said ' .. whole(tonumber(stale)) .. ', counted ' .. whole(met))
  end
  if met == 0 then
    redis.call('HDEL', k_ghosts, id)
  else
    redis.call('HSET', k_ghosts, id, whole(met) .. ' ' .. generation)
  end
end

for i = 1, tonumber(ARGV[3]) do
  local id, met = ARGV[2 + 2 * i], ARGV[3 + 2 * i]
  looked = looked + 1
  if ARGV[2] == 'jobs' then
    settle_job(id, met)
  else
    settle_ghost(id, tonumber(met))
  end
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply('')
