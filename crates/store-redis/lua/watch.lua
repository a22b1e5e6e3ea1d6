-- watch: makes scripts publish notifications for a while.
-- keys: state
-- uses: stats
-- flags: allow-oom
-- args: duration (ms)
-- reply: 1, or 0 if the queue does not exist yet
local watched_until = now + tonumber(ARGV[1])
if not exists then
  redis.call('HSET', k_state, WATCHED_FIELD, digits(watched_until))
  return 0
end
stats[WATCHED_UNTIL] = math.max(stats[WATCHED_UNTIL], watched_until)
write_stats()
return 1
