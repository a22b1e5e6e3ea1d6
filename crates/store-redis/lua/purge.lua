-- purge: removes up to a page of waiting jobs without a record.
-- keys: state jobs opts errors ready suspects ghosts scheduled expiring unique running leases owners final plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting plan stale
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
  local ids, generations = split_entries(entries)
  local records = stale_records_of(ids, generations)
  local stale_ids, stale_records = {}, {}
  for i = 1, #ids do
    if records[i] then
      stale_ids[#stale_ids + 1], stale_records[#stale_ids + 1] = ids[i], records[i]
    else
      removed[#removed + 1] = ids[i]
      stats[READY + priority] = stats[READY + priority] - 1
    end
  end
  forget_stale(stale_ids, stale_records)
  if #entries > 0 then
    scanned = scanned + #entries
    redis.call('LTRIM', k_ready[priority], #entries, -1)
    stats[LIST_BASE + priority] = stats[LIST_BASE + priority] + #entries
    is_dirty = true
  end
end

local function purge_zset(key, from_score)
  local ids = PAGE > scanned and redis.call('ZRANGEBYSCORE', key, from_score, '+inf', 'LIMIT', 0, PAGE - scanned) or {}
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

-- Removes the jobs of lines.
local function purge_lines()
  local members = uses_groups and PAGE > scanned and redis.call('ZRANGE', k_lined, 0, PAGE - scanned - 1) or {}
  for i = 1, #members do
    local group, place, id = string.match(members[i], '^([^\t]*)\t(%d+)\t(.*)$')
    local _, priority = group_lib.read_place(place)
    group_lib.leave_line(group_lib.touch_group(group), priority)
    removed[#removed + 1] = id
  end
  if #members > 0 then
    scanned = scanned + #members
    redis.call('ZREMRANGEBYRANK', k_lined, 0, #members - 1)
  end
end

-- Pending jobs first: the end of the job that they wait for must not release them.
if has_schedules then
  purge_zset(k_scheduled, '+inf')
end
drop_stale()
for priority = 0, PRIORITY_LAST do
  if scanned < PAGE then
    purge_list(priority)
  end
end
purge_zset(k_suspects, '-inf')
purge_lines()
purge_zset(k_scheduled, '-inf')
local scheduled_by = {}
for i = 1, #removed do
  local id = removed[i]
  local opts = load_opts(id)
  if opts[EXPIRES_AT] then
    redis.call('ZREM', k_expiring, id)
  end
  if opts[UNIQUE_KEY] and redis.call('HGET', k_unique, opts[UNIQUE_KEY]) == id then
    redis.call('HDEL', k_unique, opts[UNIQUE_KEY])
  end
  if opts[GROUP] then
    group_lib.leave_slot(id, opts)
  end
  scheduled_by[i] = opts[IS_SCHEDULED] and opts
  stats[BYTES] = stats[BYTES] - payload_length(id) - redis.call('HSTRLEN', k_errors, id)
  redis.call('HDEL', k_jobs, id)
  redis.call('HDEL', k_opts, id)
  redis.call('HDEL', k_errors, id)
  is_changed = true
end
for i = 1, #removed do
  if scheduled_by[i] then
    end_in_schedule(removed[i], scheduled_by[i], nil)
  end
end
call_reply = { #removed, #removed == 0 and scanned == PAGE and 1 or 0 }
commit()
return call_reply
