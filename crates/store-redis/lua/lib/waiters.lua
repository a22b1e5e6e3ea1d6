-- Sleepers: whoever found nothing and waits for a marker.

-- Registers a sleeper that found nothing, `SLEEPER TAB MS`; the third part of the answer becomes minus the time until
-- the earliest scheduled job falls due, where that is sooner, less one.
local function lie_down(request, reply)
  local sleeper, ms = string.match(request.sleeper, '^([^\t]*)\t(%d+)$')
  if not sleeper then
    return reply
  end
  ms = tonumber(ms)
  if redis.call('ZCARD', k_sleepers) == 0 then
    -- Nobody waits, so markers that are left are stale.
    redis.call('DEL', k_wake)
  end
  redis.call('ZADD', k_sleepers, now + ms, sleeper)
  f[SLEEPING_UNTIL] = math.max(f[SLEEPING_UNTIL], now + ms)
  is_dirty = true
  local first = redis.call('ZRANGE', k_scheduled, 0, 0, 'WITHSCORES')
  reply[3] = first[2] and -1 - math.max(0, tonumber(first[2]) - now) or reply[3]
  return reply
end
