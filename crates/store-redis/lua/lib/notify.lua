-- Notifications to watchers, wake-ups for waiters (never more than there are jobs), and the commit of a call.
local LEASES_PAGE = 500
local is_watched = stats[WATCHED_UNTIL] > now
local notifications = {}
local work = 0 -- number of jobs that a waiter may now find

local function announce(id, state)
  if is_watched then
    notifications[#notifications + 1] = state .. ' ' .. id
  end
end

-- Always published: rare, and the worker that runs the job listens for it.
local function announce_cancel(id)
  notifications[#notifications + 1] = NOTIFY_CANCEL .. ' ' .. id
end

-- After the clock was set back, no lease may end later than its own length from now. Works in pages, latest end first;
-- the next call continues after the leases that were left unchanged. Shortened ones moved down, so none is skipped.
local function shorten_leases()
  local from = is_clock_set_back and 0 or stats[SHORTEN_FROM] - 1
  local owners = redis.call('ZREVRANGE', k_leases, from, from + LEASES_PAGE - 1, 'WITHSCORES')
  local shortened = 0
  for i = 1, #owners, 2 do
    local owner = redis.call('HGET', k_owners, owners[i])
    local length = owner and tonumber(string.match(owner, '^%d+'))
    if length and tonumber(owners[i + 1]) > now + length then
      redis.call('ZADD', k_leases, now + length, owners[i])
      shortened = shortened + 1
    end
  end
  stats[SHORTEN_FROM] = #owners == LEASES_PAGE * 2 and 1 + from + LEASES_PAGE - shortened or 0
  stats[FULL_FROM], stats[PRUNE_FROM], is_changed = 0, 0, true
end

-- A rate that was closed by the clock before, or by another rate, opens after one period at most.
local function cut_rate()
  if rule(RATE_PERIOD) < 0 then
    return
  end
  local _, tolerance = gcra(rule(RATE_COUNT), rule(RATE_PERIOD), rule(BURST))
  local latest = now_us + rule(RATE_PERIOD) + tolerance
  if tonumber(redis.call('HGET', k_state, RATE_NEXT_FIELD) or 0) > latest then
    redis.call('HSET', k_state, RATE_NEXT_FIELD, digits(latest))
  end
end

-- The same for the rates of groups. Each is cut when the group is loaded next, and all are placed again.
local function cut_group_rates()
  if uses_groups then
    group_numbers[LIMITS_VERSION] = group_numbers[LIMITS_VERSION] + 1
    group_numbers[LIMITS_CHANGED], group_numbers[IS_STALE] = now_us, 1
    write_group_numbers()
  end
end

local function wake_waiters()
  redis.call('ZREMRANGEBYSCORE', k_sleepers, '-inf', now)
  local left = work
  while left > 0 do
    local page, wakeups = math.min(left, WAKE_MAX), {}
    local woken = redis.call('ZPOPMIN', k_sleepers, page)
    for i = 1, #woken, 2 do
      wakeups[#wakeups + 1] = '1'
    end
    if #wakeups > 0 then
      redis.call('RPUSH', k_wake, unpack(wakeups))
    end
    left = left - page
    if #wakeups < page then
      -- No waiter is left.
      stats[WAITERS_UNTIL], left = 0, 0
    end
  end
  is_dirty = true
end

-- Writes what this call changed. Only a call that changed something advances the clock mark and is published.
local function commit()
  if write_groups then
    write_groups()
  end
  if work > 0 and stats[WAITERS_UNTIL] > now then
    wake_waiters()
  end
  if is_changed then
    stats[CLOCK_MARK] = now_us
  end
  if is_changed or is_dirty then
    write_stats()
  end
  if work > 0 and is_watched then
    notifications[#notifications + 1] = NOTIFY_WORK
  end
  if #notifications > 0 then
    redis.call('SPUBLISH', k_hints, table.concat(notifications, '\n'))
  end
end

if is_clock_set_back or stats[SHORTEN_FROM] > 0 then
  if exists then
    check_types()
    shorten_leases()
    if is_clock_set_back then
      cut_rate()
      cut_group_rates()
    end
  end
end
