-- audit/ready_list: a page of a ready list. Entries that stand for no ready job of this lane are taken out.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease audit/report audit/validate audit/opts audit/job
-- flags: allow-oom
-- args: priority; position to go on at (empty: the head)
-- reply: as in lib/audit/report, then the position of the page's first entry, the position behind the list's last, and for each entry `+ID` (its job's own), `-ID` (stale) or an empty text (taken out)
if not exists then
  return page_reply('', { 0, 0 })
end
local COUNT = 200
local priority = tonumber(ARGV[1])
local base = f[BASE + priority]
local from = ARGV[2] ~= '' and math.max(0, tonumber(ARGV[2]) - base) or 0
local entries = redis.call('LRANGE', k_ready[priority], from, from + COUNT - 1)
local length = redis.call('LLEN', k_ready[priority])
local rest = { whole(base + from), whole(base + length) }
local ids, generations = {}, {}
for i = 1, #entries do
  local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
  ids[i] = id or entries[i]
  generations[i] = is_number(generation or '0') and tonumber(generation or '0')
end

-- Why an entry that is not stale is none of a ready job in this lane; nothing where it is.
local function fault_of(id, generation, text, is_elsewhere)
  if not has_job(id) then
    return 'without_job', 'ready'
  elseif is_elsewhere then
    return 'in_two_places', 'ready and ' .. (state_of(id) or 'final')
  end
  local o = mended_opts(id, text)
  if is_suspect(o) then
    return 'in_two_places', 'ready and suspects'
  elseif tonumber(o.p or 5) ~= priority or tonumber(o.g or 0) ~= generation then
    return 'entry_wrong', 'the ready list of priority ' .. priority
  end
end

if #ids > 0 then
  looked = #ids
  local ghosts = redis.call('HMGET', k_ghosts, unpack(ids))
  local texts = redis.call('HMGET', k_opts, unpack(ids))
  local holds = redis.call('HMGET', k_running, unpack(ids))
  local ends = redis.call('HMGET', k_final, unpack(ids))
  local due = redis.call('ZMSCORE', k_scheduled, unpack(ids))
  for i = 1, #ids do
    local id, generation = ids[i], generations[i]
    local highest = tonumber(string.match(ghosts[i] or '', ' (%d+)$'))
    local fault, detail
    if not generation or not is_name(id) then
      fault, detail = 'entry_unreadable', 'ready'
    elseif highest and generation <= highest then
      rest[2 + i] = '-' .. id
    else
      fault, detail = fault_of(id, generation, texts[i], holds[i] or ends[i] or due[i])
      rest[2 + i] = '+' .. id
    end
    if fault then
      blank_out(priority, from + i - 1)
      rest[2 + i] = ''
      report(fault, id, detail)
    end
  end
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(from + #entries < length and whole(base + from + #entries) or '', rest)
