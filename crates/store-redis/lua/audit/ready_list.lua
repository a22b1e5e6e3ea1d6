-- audit/ready_list: checks a page of a ready list. Entries that do not belong to a ready job of this lane are removed.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting limit lease audit/report audit/validate audit/opts audit/job
-- flags: allow-oom
-- args: priority; position to start at (empty: the head)
-- reply: as in lib/audit/report, then the position of the first entry of the page, the position after the last of the list, and per entry CURRENT_ENTRY ID, STALE_ENTRY ID or an empty string (removed)
if not exists then
  return page_reply('', { 0, 0 })
end
local COUNT = 200
local priority = tonumber(ARGV[1])
local base = stats[LIST_BASE + priority]
local from = ARGV[2] ~= '' and math.max(0, tonumber(ARGV[2]) - base) or 0
local entries = redis.call('LRANGE', k_ready[priority], from, from + COUNT - 1)
local length = redis.call('LLEN', k_ready[priority])
local extra = { digits(base + from), digits(base + length) }
local ids, generations = {}, {}
for i = 1, #entries do
  local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
  ids[i] = id or entries[i]
  generations[i] = is_number(generation or '0') and tonumber(generation or '0')
end

-- Returns the repair code and detail if a current entry does not belong to a ready job of this lane.
local function misplacement(id, generation, text, is_elsewhere)
  if not has_job(id) then
    return 'without_job', 'ready'
  elseif is_elsewhere then
    return 'in_two_states', 'ready and ' .. (state_of(id) or 'final')
  end
  local opts = repaired_opts(id, text)
  if opts[GROUP] then
    return 'in_two_states', 'ready and lined'
  elseif is_suspect(opts) then
    return 'in_two_states', 'ready and suspects'
  elseif tonumber(opts[PRIORITY] or PRIORITY_DEFAULT) ~= priority or tonumber(opts[GENERATION] or 0) ~= generation then
    return 'entry_wrong', 'ready list of priority ' .. priority
  end
end

if #ids > 0 then
  scanned = #ids
  local stale_records = redis.call('HMGET', k_ghosts, unpack(ids))
  local texts = redis.call('HMGET', k_opts, unpack(ids))
  local leases = redis.call('HMGET', k_running, unpack(ids))
  local ends = redis.call('HMGET', k_final, unpack(ids))
  local due = redis.call('ZMSCORE', k_scheduled, unpack(ids))
  for i = 1, #ids do
    local id, generation = ids[i], generations[i]
    local highest = tonumber(string.match(stale_records[i] or '', ' (%d+)$'))
    local code, detail
    if not generation or not is_name(id) then
      code, detail = 'entry_unreadable', 'ready'
    elseif highest and generation <= highest then
      extra[2 + i] = STALE_ENTRY .. id
    else
      code, detail = misplacement(id, generation, texts[i], leases[i] or ends[i] or due[i])
      extra[2 + i] = CURRENT_ENTRY .. id
      if not code and entries[i] == id and redis.call('HEXISTS', k_opts, id) == 1 then
        -- Only the full scripts may claim it.
        redis.call('LSET', k_ready[priority], from + i - 1, '\t0\t' .. id)
      end
    end
    if code then
      blank_entry(priority, from + i - 1)
      extra[2 + i] = ''
      report(code, id, detail)
    end
  end
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(from + #entries < length and digits(base + from + #entries) or '', extra)
