-- audit/mark: marks unverified jobs and stale entries. Any move removes the mark, so audit/verify knows what did not move.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/validate audit/opts audit/job audit/mark
-- flags: allow-oom
-- args: nonce of the audit, 1 for its first call; `jobs` or `ghosts`; count; ids
-- reply: as in lib/audit/report, then the ids that were marked
if not exists then
  return page_reply('')
end
if ARGV[2] == '1' then
  -- Marks do not name their audit, so only the latest audit may trust them.
  redis.call('HSET', k_state, AUDIT_FIELD, ARGV[1])
  -- Marks are opts, which the fast scripts do not expect in the hash.
  need_full(0)
  write_stats()
elseif not is_latest_audit(ARGV[1]) then
  return page_reply('')
end

local function mark_job(id)
  local opts = state_of(id) == 'ready' and repaired_opts(id)
  if not opts or is_suspect(opts) or opts[GROUP] then
    return false
  end
  if not is_marked(opts[GENERATION]) then
    opts[GENERATION] = '0' .. (opts[GENERATION] or '0')
    save_opts(id, opts)
  end
  return true
end

local function mark_stale(id)
  local stale_record = redis.call('HGET', k_ghosts, id)
  if stale_record and not is_marked(stale_record) then
    redis.call('HSET', k_ghosts, id, '0' .. stale_record)
  end
  return stale_record
end

local marked = {}
for i = 5, 4 + tonumber(ARGV[4]) do
  scanned = scanned + 1
  if (ARGV[3] == 'jobs' and mark_job or mark_stale)(ARGV[i]) then
    marked[#marked + 1] = ARGV[i]
  end
end
return page_reply('', marked)
