-- Stale entries: entries of the ready lists whose job has left. Claims, maintenance and purges drop them. The position of
-- an entry that stays never changes (LIST_BASE), so listings and audits that are under way continue where they were.
local STALE_PAGE, STALE_SCAN_MAX = 500, 2500

-- Splits entries into ids, in place, and generations by position.
local function split_entries(entries)
  local generations = {}
  for i = 1, #entries do
    if string.byte(entries[i]) == TAB then
      local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
      generations[i], entries[i] = tonumber(generation), id
    end
  end
  return entries, generations
end

-- The stale records of entries, by position; false for a current entry.
local function stale_records_of(ids, generations)
  local records = {}
  if stats[STALE_ENTRIES] > 0 and #ids > 0 then
    records = redis.call('HMGET', k_ghosts, unpack(ids))
  end
  for i = 1, #ids do
    local highest = records[i] and tonumber(string.match(records[i], ' (%d+)$'))
    records[i] = highest and (generations[i] or 0) <= highest and records[i] or false
  end
  return records
end

-- Counts one stale entry less per id; an id may occur more than once. The entries are dropped by the caller.
local function forget_stale(ids, records)
  if #ids == 0 then
    return
  end
  local left, gone, saved = {}, {}, {}
  for i = 1, #ids do
    local count = left[ids[i]] or tonumber(string.match(records[i], '^%d+')) or 1
    left[ids[i]] = count - 1
  end
  for i = 1, #ids do
    local id, count = ids[i], left[ids[i]]
    if count then
      left[id] = nil
      if count > 0 then
        saved[#saved + 1] = id
        saved[#saved + 1] = digits(count) .. string.match(records[i], ' %d+$')
      else
        gone[#gone + 1] = id
      end
    end
  end
  if #gone > 0 then
    redis.call('HDEL', k_ghosts, unpack(gone))
  end
  if #saved > 0 then
    redis.call('HSET', k_ghosts, unpack(saved))
  end
  stats[STALE_ENTRIES] = stats[STALE_ENTRIES] - #ids
  is_dirty = true
end

-- Drops the stale entries at the head of a list, or at its tail; reads up to `room` entries. Returns how many it read, and
-- whether none are left there.
local function drop_stale_end(priority, at_head, room)
  local key, scanned, page = k_ready[priority], 0, 10
  while room - scanned > 0 and stats[STALE_ENTRIES] > 0 do
    page = math.min(page, room - scanned)
    local entries
    if at_head then
      entries = redis.call('LRANGE', key, 0, page - 1)
    else
      entries = redis.call('LRANGE', key, -page, -1)
    end
    local ids, generations = split_entries(entries)
    local records = stale_records_of(ids, generations)
    local dropped, dropped_records = {}, {}
    local first, last, by = 1, #ids, 1
    if not at_head then
      first, last, by = #ids, 1, -1
    end
    for i = first, last, by do
      if not records[i] then
        break
      end
      dropped[#dropped + 1], dropped_records[#dropped + 1] = ids[i], records[i]
    end
    if #dropped > 0 then
      forget_stale(dropped, dropped_records)
      if at_head then
        redis.call('LTRIM', key, #dropped, -1)
        stats[LIST_BASE + priority] = stats[LIST_BASE + priority] + #dropped
      else
        redis.call('LTRIM', key, 0, -1 - #dropped)
      end
    end
    scanned = scanned + #ids
    if #dropped < page then
      return scanned, true
    end
    page = math.min(page * 10, STALE_PAGE)
  end
  return scanned, stats[STALE_ENTRIES] == 0
end

local drop_all_stale
do -- a script may have 200 locals at a time
  -- Whether `count` entries of a list from position `from` are all current.
  local function are_current(priority, from, count)
    for at = from, from + count - 1, STALE_PAGE do
      local last = math.min(at + STALE_PAGE, from + count) - 1
      local records = stale_records_of(split_entries(redis.call('LRANGE', k_ready[priority], at, last)))
      for i = 1, #records do
        if records[i] then
          return false
        end
      end
    end
    return true
  end

  -- Drops all stale entries at once if each list has its current entries, few in all, together at its head or its tail.
  -- Returns whether it did.
  drop_all_stale = function()
    local cuts, stale, scanned = {}, 0, 0
    for priority = 0, PRIORITY_LAST do
      local length = redis.call('LLEN', k_ready[priority])
      local suspects = redis.call('ZCOUNT', k_suspects, priority * SUSPECT_LANE, '(' .. digits((priority + 1) * SUSPECT_LANE))
      local current = stats[READY + priority] - suspects
      if length - current > 0 then
        stale, scanned = stale + length - current, scanned + current
        cuts[#cuts + 1] = { priority = priority, length = length, current = current }
      end
      if current < 0 or scanned > STALE_SCAN_MAX then
        return false
      end
    end
    -- Otherwise the stats are wrong, which an audit repairs.
    if stale == 0 or stale ~= stats[STALE_ENTRIES] then
      return false
    end
    for i = 1, #cuts do
      local cut = cuts[i]
      cut.is_at_tail = are_current(cut.priority, cut.length - cut.current, cut.current)
      if not cut.is_at_tail and not are_current(cut.priority, 0, cut.current) then
        return false
      end
    end
    for i = 1, #cuts do
      local key, cut = k_ready[cuts[i].priority], cuts[i]
      if cut.current == 0 then
        redis.call('UNLINK', key)
      elseif cut.is_at_tail then
        redis.call('LTRIM', key, -cut.current, -1)
      else
        redis.call('LTRIM', key, 0, cut.current - 1)
      end
      if cut.is_at_tail then
        stats[LIST_BASE + cut.priority] = stats[LIST_BASE + cut.priority] + cut.length - cut.current
      end
    end
    redis.call('UNLINK', k_ghosts)
    stats[STALE_ENTRIES], is_dirty = 0, true
    return true
  end
end

-- Drops stale entries at both ends of all lists, within the bounds of one call. Returns how many.
local function drop_stale()
  local before = stats[STALE_ENTRIES]
  local room = before > 0 and not drop_all_stale() and STALE_SCAN_MAX or 0
  for priority = 0, PRIORITY_LAST do
    room = room - drop_stale_end(priority, true, room)
    room = room - drop_stale_end(priority, false, room)
  end
  return before - stats[STALE_ENTRIES]
end
