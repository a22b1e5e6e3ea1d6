-- Waiters: callers that found no job and block until a wake-up.

-- Registers a waiter, `NAME TAB MS`, and sets CLAIM_NEXT in the reply to NEXT_DUE less the time until the earliest
-- scheduled job is due, if there is one.
local function register_waiter(request, reply)
  local waiter, ms = string.match(request.waiter, '^([^\t]*)\t(%d+)$')
  if not waiter then
    return reply
  end
  ms = tonumber(ms)
  if redis.call('ZCARD', k_sleepers) == 0 then
    -- There are no waiters, so remaining wake-ups are stale.
    redis.call('DEL', k_wake)
  end
  redis.call('ZADD', k_sleepers, now + ms, waiter)
  stats[WAITERS_UNTIL] = math.max(stats[WAITERS_UNTIL], now + ms)
  is_dirty = true
  local first = redis.call('ZRANGE', k_scheduled, 0, 0, 'WITHSCORES')
  reply[CLAIM_NEXT] = first[2] and NEXT_DUE - math.max(0, tonumber(first[2]) - now) or reply[CLAIM_NEXT]
  return reply
end
