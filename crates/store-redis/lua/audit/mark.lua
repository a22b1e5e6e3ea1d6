-- audit/mark: marks what is doubted, so that it is known later whether it moved since: every move of a job or of a stale entry wipes the mark.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting audit/report audit/validate audit/opts audit/job audit/mark
-- flags: allow-oom
-- args: nonce of the audit, 1 when these are its first; jobs or ghosts; how many; ids
-- reply: as in lib/audit/report, then those ids that were marked
if not exists then
  return page_reply('')
end
if ARGV[2] == '1' then
  -- Marks do not say whose they are: one audit at a time may believe them, the latest.
  redis.call('HSET', k_state, 'audit', ARGV[1])
elseif not is_latest(ARGV[1]) then
  return page_reply('')
end

local function mark_job(id)
  local o = state_of(id) == 'ready' and mended_opts(id)
  if not o or is_suspect(o) then
    return false
  end
  if not is_marked(o.g) then
    o.g = '0' .. (o.g or '0')
    save_opts(id, o)
  end
  return true
end

local function mark_ghost(id)
  local ghost = redis.call('HGET', k_ghosts, id)
  if ghost and not is_marked(ghost) then
    redis.call('HSET', k_ghosts, id, '0' .. ghost)
  end
  return ghost
end

local marked = {}
for i = 5, 4 + tonumber(ARGV[4]) do
  looked = looked + 1
  if (ARGV[3] == 'jobs' and mark_job or mark_ghost)(ARGV[i]) then
    marked[#marked + 1] = ARGV[i]
  end
end
return page_reply('', marked)
