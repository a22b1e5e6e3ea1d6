-- Pages through the jobs of one state, or of all, state by state. A job that does not move is returned once.
-- Order: pending jobs by id, scheduled ones by due time, ready ones by turn, running ones by claim, finished ones by end time.
local STATES = { 'pending', 'scheduled', 'ready', 'running', 'succeeded', 'dead', 'cancelled' }
local LANES = 20 -- suspects and list of each priority

-- The rank of the first member after (score, member); members of one score are ordered by bytes.
local function rank_after(key, score, member)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_before(member, redis.call('ZRANGE', key, middle, middle)[1]) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- A page of a sorted set, from rank `first` or a cursor `SCORE TAB MEMBER`, before rank `last`; and the next cursor.
local function page_of_zset(key, cursor, limit, first, last)
  local from = first
  local score, member = string.match(cursor, '^([^\t]+)\t(.*)$')
  if score then
    from = rank_after(key, score, member)
  end
  local found = last - from > 0 and redis.call('ZRANGE', key, from, math.min(from + limit, last - 1), 'WITHSCORES') or {}
  local ids = {}
  for i = 1, math.min(#found, 2 * limit), 2 do
    ids[#ids + 1] = found[i]
  end
  local has_more = #found > 2 * limit
  return ids, has_more and found[2 * limit] .. '\t' .. found[2 * limit - 1] or nil
end

-- A page of one ready list from an absolute position.
local function page_of_list(priority, position, limit)
  local from = position and math.max(0, position - stats[LIST_BASE + priority]) or 0
  local entries = redis.call('LRANGE', k_ready[priority], from, from + limit - 1)
  local ids = {}
  for i = 1, #entries do
    local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
    id = id or entries[i]
    local stale_record = stats[STALE_ENTRIES] > 0 and redis.call('HGET', k_ghosts, id)
    if not (stale_record and tonumber(generation or 0) <= tonumber(string.match(stale_record, ' (%d+)$'))) then
      ids[#ids + 1] = id
    end
  end
  return ids, #entries, stats[LIST_BASE + priority] + from + #entries
end

-- A page of a priority's suspects after a score.
local function page_of_suspects(priority, score, limit)
  local low = score and '(' .. score or digits(priority * SUSPECT_LANE)
  local high = '(' .. digits((priority + 1) * SUSPECT_LANE)
  local found = redis.call('ZRANGEBYSCORE', k_suspects, low, high, 'WITHSCORES', 'LIMIT', 0, limit)
  local ids = {}
  for i = 1, #found, 2 do
    ids[#ids + 1] = found[i]
  end
  return ids, found[#found]
end

-- Ready jobs: each priority's suspects, then its list; then the lines of groups. Cursor: `LANE TAB POSITION`.
local function page_of_ready(cursor, limit)
  local lane, position = string.match(cursor, '^(%d+)\t(.*)$')
  lane = tonumber(lane or 0)
  position = position ~= '' and position or nil
  local ids, scanned = {}, 0
  while lane < LANES and scanned < limit do
    local priority = math.floor(lane / 2)
    local page, next_position, read_count
    if lane % 2 == 0 then
      page, next_position = page_of_suspects(priority, position, limit - scanned)
      read_count = #page
    else
      page, read_count, next_position = page_of_list(priority, position and tonumber(position), limit - scanned)
      next_position = digits(next_position)
    end
    for i = 1, #page do
      ids[#ids + 1] = page[i]
    end
    scanned = scanned + read_count
    if read_count < limit - scanned + read_count then
      lane, position = lane + 1, nil
    else
      position = next_position
    end
  end
  local has_more = false
  if lane < LANES then
    for rest = lane, LANES - 1 do
      local priority = math.floor(rest / 2)
      if rest == lane and rest % 2 == 1 then
        local left = redis.call('LLEN', k_ready[priority]) - (position and tonumber(position) - stats[LIST_BASE + priority] or 0)
        has_more = has_more or left > 0
      else
        has_more = has_more or stats[READY + priority] > 0
      end
    end
  end
  if has_more or not uses_groups then
    return ids, has_more and lane .. '\t' .. (position or '') or nil
  end
  local next_position = add_lines(ids, lane >= LANES and position or nil, limit - scanned)
  return ids, next_position and LANES .. '\t' .. next_position or nil
end

-- Running jobs, claim by claim. Cursor: `TOKEN TAB POSITION`.
local function page_of_running(cursor, limit)
  local token, position = string.match(cursor, '^([^\t]+)\t(%d+)$')
  local rank
  if token then
    -- Start with the same claim: the last page may have split it.
    rank = redis.call('ZSCORE', k_tokens, token) == 'inf' and redis.call('ZRANK', k_tokens, token)
      or rank_after(k_tokens, '+inf', token)
  else
    rank = redis.call('ZCOUNT', k_tokens, '-inf', '(+inf')
  end
  local tokens = redis.call('ZRANGE', k_tokens, rank, rank + limit)
  local ids, scanned = {}, 0
  for i = 1, #tokens do
    local claimed = claimed_ids(tokens[i])
    local first = tokens[i] == token and tonumber(position) + 1 or 1
    local texts = #claimed > 0 and redis.call('HMGET', k_running, unpack(claimed)) or {}
    for at = first, #claimed do
      if scanned >= limit then
        return ids, tokens[i] .. '\t' .. (at - 1)
      end
      if texts[at] and string.sub(texts[at], 1, #tokens[i] + 1) == tokens[i] .. '\t' then
        ids[#ids + 1] = claimed[at]
        scanned = scanned + 1
      end
    end
  end
  return ids, #tokens > limit and tokens[#tokens] .. '\t' .. #claimed_ids(tokens[#tokens]) or nil
end

local function page_of_state(state, cursor, limit)
  if state == 'ready' then
    return page_of_ready(cursor, limit)
  elseif state == 'running' then
    return page_of_running(cursor, limit)
  end
  local keys = { succeeded = k_succeeded, dead = k_dead, cancelled = k_cancelled }
  if keys[state] then
    return page_of_zset(keys[state], cursor, limit, 0, NEVER)
  end
  -- Pending jobs are the last ones in `scheduled`.
  local scheduled = redis.call('ZCOUNT', k_scheduled, '-inf', '(' .. PENDING_SCORE)
  if state == 'scheduled' then
    return page_of_zset(k_scheduled, cursor, limit, 0, scheduled)
  end
  return page_of_zset(k_scheduled, cursor, limit, scheduled, NEVER)
end

-- One page of ids, and the next cursor (nil: done). Over all states the cursor starts with `STATE TAB`.
local function page_of(filter)
  local found, next_at
  if filter.state ~= '' then
    found, next_at = page_of_state(filter.state, filter.cursor, filter.limit)
  else
    local number, cursor = string.match(filter.cursor, '^(%d)\t(.*)$')
    number, cursor, found = tonumber(number or 1), cursor or '', {}
    while number <= #STATES and #found < filter.limit do
      local page
      page, next_at = page_of_state(STATES[number], cursor, filter.limit - #found)
      for i = 1, #page do
        found[#found + 1] = page[i]
      end
      cursor = next_at or ''
      if not next_at then
        number = number + 1
      elseif #page == 0 then
        break
      end
    end
    next_at = number <= #STATES and number .. '\t' .. cursor or nil
  end
  return found, next_at
end

-- One page of matching ids, the next cursor (empty: done), and the number of jobs examined.
local function scan(filter)
  local found, next_at = page_of(filter)
  while is_too_large(found, filter) do
    filter.limit = math.floor(filter.limit / 2)
    found, next_at = page_of(filter)
  end
  local ids = {}
  for i = 1, #found do
    if matches(found[i], filter) then
      ids[#ids + 1] = found[i]
    end
  end
  return ids, next_at or '', #found
end
