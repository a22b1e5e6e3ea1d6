-- Picks jobs from the lanes in order of priority. A suspect is picked alone.
local PAGE, ENTRY_SCAN_MAX = 100, 200
local SUSPECT_TRUST = 10000

-- A boot gets its next suspect only after the last one ended or has run for a while.
local function may_pick_suspect(request)
  if request.owner == '' then
    return true
  end
  local record = redis.call('HGET', k_owners, request.owner)
  local token, id = string.match(record or '', '^%d+\t%d*\t[^\t]*\t([^\t]+)\t(.+)$')
  if not token then
    return true
  end
  local since = issued_at(token)
  -- A token from the future: the clock was set back, so it is unknown how long the job ran.
  return now < since or now - since >= SUSPECT_TRUST or not lease_of(id, token)
end

local function expire(id, opts, state)
  local bytes = payload_length(id)
  remove_waiting(id, opts, state)
  end_dead(id, opts, bytes, nil, 'expired')
end

-- How many jobs of the average size, up to `max`, are read at once: no more than a claim may hand out, and one to see
-- that it is full. Counts the jobs only if all payloads together are too large for a claim.
local function read_at_once(max)
  if max == 0 or stats[BYTES] <= CLAIM_BYTES_MAX then
    return max
  end
  local average = stats[BYTES] / math.max(1, redis.call('HLEN', k_jobs))
  return math.min(max, math.floor(CLAIM_BYTES_MAX / average) + 1)
end

-- Reads entries of a list from position `from`: id, value, opts, and the stale record if the entry is stale.
local function read_entries(priority, from, most)
  local entries = redis.call('LRANGE', k_ready[priority], from, from + most - 1)
  if #entries == 0 then
    return entries
  end
  local ids, generations = split_entries(entries)
  local stale_records, found = stale_records_of(ids, generations), {}
  local values = redis.call('HMGET', k_jobs, unpack(ids))
  local encoded_opts = redis.call('HLEN', k_opts) > 1 and redis.call('HMGET', k_opts, unpack(ids)) or nil
  for i = 1, #ids do
    found[i] = {
      id = ids[i],
      priority = priority,
      value = values[i] or nil,
      bytes = values[i] and #values[i] - header_length(values[i]) or 0,
      encoded_opts = encoded_opts and encoded_opts[i] or nil,
      stale_record = stale_records[i],
    }
  end
  return found
end

-- Drops an entry that has no value or has expired.
local function skip_entry(entry, priority)
  is_changed = true
  stats[READY + priority] = stats[READY + priority] - 1
  if entry.value then
    local opts = decode_opts(entry.encoded_opts)
    redis.call('ZREM', k_expiring, entry.id)
    end_dead(entry.id, opts, entry.bytes, nil, 'expired')
  end
end

local function is_expired(encoded_opts)
  local at = encoded_opts and string.find(encoded_opts, '\n' .. EXPIRES_AT .. '%d') and tonumber(string.match(encoded_opts, '\n' .. EXPIRES_AT .. '(%d+)\n'))
  at = at or (encoded_opts and tonumber(string.match(encoded_opts, '^' .. EXPIRES_AT .. '(%d+)\n')))
  return at and at <= now
end

-- Drops the stale entries before the next job of a list. Returns false if this call may not read as many as there are.
local function reach_next_job(priority, seen)
  local scanned, is_done = drop_stale_end(priority, true, seen.stale_room)
  seen.stale_room = seen.stale_room - scanned
  return is_done or drop_all_stale()
end

-- Picks from one list into `taken`; sets `seen.is_over` or `seen.again` if the call reached its bounds.
local function pick_from_list(priority, taken, max, seen)
  local from = 0
  seen.at_once = seen.at_once or read_at_once(max)
  if stats[READY + priority] > 0 and not reach_next_job(priority, seen) then
    seen.again = CLAIM_AGAIN
    return
  end
  while #taken < max and stats[READY + priority] > 0 do
    local room = math.min(max - #taken, ENTRY_SCAN_MAX - seen.scanned, seen.at_once)
    if room <= 0 or seen.stale >= ENTRY_SCAN_MAX then
      seen.again = CLAIM_AGAIN
      break
    end
    local found = read_entries(priority, from, room)
    if #found == 0 then
      break
    end
    local stale_ids, stale_records = {}, {}
    for i = 1, #found do
      local entry = found[i]
      local is_late = entry.encoded_opts and not entry.stale_record and is_expired(entry.encoded_opts)
      local bytes = seen.bytes + (entry.stale_record and 0 or is_late and 0 or entry.bytes)
      if seen.skipped >= PAGE or (bytes > CLAIM_BYTES_MAX and #taken > 0) then
        seen.is_over = true
        break
      end
      seen.bytes = bytes
      from = from + 1
      if entry.stale_record then
        seen.stale = seen.stale + 1
        stale_ids[#stale_ids + 1], stale_records[#stale_ids + 1] = entry.id, entry.stale_record
      elseif not entry.value or is_late then
        seen.scanned, seen.skipped = seen.scanned + 1, seen.skipped + (is_late and 1 or 0)
        skip_entry(entry, priority)
      else
        seen.scanned = seen.scanned + 1
        taken[#taken + 1] = entry
        stats[READY + priority] = stats[READY + priority] - 1
      end
    end
    forget_stale(stale_ids, stale_records)
    if seen.is_over or seen.skipped >= PAGE then
      seen.is_over = true
      break
    end
  end
  if from > 0 then
    redis.call('LTRIM', k_ready[priority], from, -1)
    stats[LIST_BASE + priority] = stats[LIST_BASE + priority] + from
    is_dirty = true
  end
end

-- Handles the first suspect of a priority. Returns none, expired (and ended), taken, or ahead (jobs were already taken).
local function pick_suspect(priority, taken, request, seen)
  local first = redis.call('ZRANGEBYSCORE', k_suspects, priority * SUSPECT_LANE, '(' .. digits((priority + 1) * SUSPECT_LANE), 'LIMIT', 0, 1)[1]
  if not first then
    return 'none'
  end
  if seen.may_pick_suspect == nil then
    seen.may_pick_suspect = may_pick_suspect(request)
  end
  if not seen.may_pick_suspect then
    return 'none'
  end
  if #taken > 0 then
    return 'ahead'
  end
  local text = redis.call('HGET', k_opts, first)
  if is_expired(text) then
    expire(first, decode_opts(text), 'ready')
    seen.skipped = seen.skipped + 1
    return 'expired'
  end
  redis.call('ZREM', k_suspects, first)
  stats[READY + priority] = stats[READY + priority] - 1
  local value = redis.call('HGET', k_jobs, first) or '\n'
  taken[1] = { id = first, value = value, bytes = #value - header_length(value), encoded_opts = text, priority = priority, is_suspect = true }
  is_changed = true
  return 'taken'
end

local pick_in_turn -- in lib/group/pick

local function pick(request, seen)
  if uses_groups then
    return pick_in_turn(request, seen)
  end
  local taken = {}
  local max = math.min(request.max, CLAIM_MAX)
  local any_suspects = has_suspects()
  for priority = 0, PRIORITY_LAST do
    if stats[READY + priority] > 0 and #taken < max then
      local result = any_suspects and 'expired' or 'none'
      while result == 'expired' and seen.skipped < PAGE do
        result = pick_suspect(priority, taken, request, seen)
      end
      if result == 'taken' or result == 'ahead' or seen.skipped >= PAGE then
        return taken
      end
      pick_from_list(priority, taken, max, seen)
      if seen.is_over or seen.again then
        return taken
      end
    end
  end
  return taken
end
