-- Waiters: callers that found no job and block until a wake-up.

-- So many other waiters must ask soon for one to ask late: a single one may be gone.
local POLLERS_MIN = 2

-- The earliest score of a sorted set, plus `ms`; NEVER if the set is empty.
local function earliest(key, ms)
  local score = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  return score and score + ms or NEVER
end

-- When the next instant fires. While the memory is full, claims try again after a second.
local function earliest_firing()
  if is_memory_full then
    return now + 1000
  end
  return has_schedules and earliest(k_firing, 0) or NEVER
end

-- Registers a waiter, `NAME TAB SHORT TAB LONG` (ms). It asks again when its registration is over. If that is within
-- SHORT for POLLERS_MIN other waiters, it is registered for LONG, otherwise for SHORT: so the next one always asks within
-- the longest SHORT. Sets CLAIM_UNTIL in the reply to how long it is registered (ms), and CLAIM_NEXT to NEXT_DUE less the
-- time until the earliest scheduled job or instant of a schedule is due, or a closed rate or a rest ends, if there is one.
local function register_waiter(request, reply)
  local waiter, short, long = string.match(request.waiter, '^([^\t]*)\t(%d+)\t(%d+)$')
  if not waiter then
    return reply
  end
  local ms = tonumber(long)
  redis.call('ZREMRANGEBYSCORE', k_sleepers, '-inf', now)
  if redis.call('ZCARD', k_sleepers) == 0 then
    -- There are no waiters, so remaining wake-ups are stale.
    redis.call('DEL', k_wake)
  end
  redis.call('ZADD', k_sleepers, now + ms, waiter)
  if long ~= short and redis.call('ZCOUNT', k_sleepers, '-inf', now + short) < POLLERS_MIN then
    ms = tonumber(short)
    redis.call('ZADD', k_sleepers, now + ms, waiter)
  end
  reply[CLAIM_UNTIL] = ms
  stats[WAITERS_UNTIL] = math.max(stats[WAITERS_UNTIL], now + ms)
  is_dirty = true
  local due = math.min(earliest(k_scheduled, 0), earliest_firing(), opening())
  local group_opens = uses_groups and redis.call('ZRANGEBYSCORE', k_resting, '(' .. digits(now_us), '(inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  due = math.min(due, group_opens and math.ceil(group_opens / 1000) or NEVER)
  reply[CLAIM_NEXT] = due < NEVER and NEXT_DUE - math.max(0, due - now) or reply[CLAIM_NEXT]
  return reply
end

-- Sets CLAIM_NEXT in the reply to a waiter that found jobs to the number of ready jobs left that may start. If no wake-up
-- is left for these, leaves one: a waiter that was away when they became ready must find it.
local function leave_wakeup(reply, wakeups)
  write_groups()
  local left = startable(uses_groups and redis.call('ZCARD', k_turns) == 0 and 0 or nil)
  if left > 0 and wakeups == 0 then
    redis.call('RPUSH', k_wake, '1')
  end
  reply[CLAIM_NEXT] = left
  return reply
end
