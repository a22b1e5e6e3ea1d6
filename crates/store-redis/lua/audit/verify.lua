-- audit/verify: repairs what is still marked. All ready lists were scanned since the mark, so an entry that did not move was seen exactly as often as it is there.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/validate audit/opts audit/job audit/mark
-- flags: allow-oom
-- args: nonce of the audit; `jobs` or `ghosts`; count; per job its id and where it was seen (`PRIORITY:POSITION,…`), per stale entry its id and how often
-- reply: as in lib/audit/report
if not exists or not is_latest_audit(ARGV[1]) then
  return page_reply('')
end

-- The positions where the job was seen that still contain its current entry.
local function current_positions(id, opts, seen)
  local found = {}
  for priority, position in string.gmatch(seen, '(%d):(%-?%d+)') do
    local index = tonumber(position) - stats[LIST_BASE + priority]
    local entry = index >= 0 and redis.call('LINDEX', k_ready[tonumber(priority)], index) or ''
    local generation, named = string.match(entry, '^\t(%d+)\t(.*)$')
    if (named or entry) == id and tonumber(generation or 0) == tonumber(opts[GENERATION] or 0) then
      found[#found + 1] = { priority = tonumber(priority), index = index }
    end
  end
  return found
end

local function verify_job(id, seen)
  local opts = state_of(id) == 'ready' and repaired_opts(id)
  if not opts or is_suspect(opts) or opts[GROUP] or not is_marked(opts[GENERATION]) then
    return
  end
  opts[GENERATION] = unmarked(opts[GENERATION])
  local positions = current_positions(id, opts, seen)
  if seen == '' then
    -- The stats counted it as ready before.
    add_to_lane(id, opts)
    local lane = READY + tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
    stats[lane] = stats[lane] - 1
    report('not_listed', id)
    return
  end
  save_opts(id, opts)
  -- Keep the first entry.
  for i = 2, #positions do
    blank_entry(positions[i].priority, positions[i].index)
    report('listed_twice', id)
  end
end

local function verify_stale(id, seen)
  local stale_record = redis.call('HGET', k_ghosts, id)
  if not is_marked(stale_record) then
    return
  end
  local stale, generation = string.match(stale_record, '^(%d+) (%d+)$')
  if tonumber(stale) ~= seen then
    stats[STALE_ENTRIES] = math.max(0, stats[STALE_ENTRIES] + seen - tonumber(stale))
    report('stale_entries_miscounted', id, 'was ' .. digits(tonumber(stale)) .. ', counted ' .. digits(seen))
  end
  if seen == 0 then
    redis.call('HDEL', k_ghosts, id)
  else
    redis.call('HSET', k_ghosts, id, digits(seen) .. ' ' .. generation)
  end
end

for i = 1, tonumber(ARGV[3]) do
  local id, seen = ARGV[2 + 2 * i], ARGV[3 + 2 * i]
  scanned = scanned + 1
  if ARGV[2] == 'jobs' then
    verify_job(id, seen)
  else
    verify_stale(id, tonumber(seen))
  end
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply('')
