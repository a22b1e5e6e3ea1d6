-- watch: somebody listens for hints until a time.
-- keys: state
-- uses: stats
-- flags: allow-oom
-- args: for how long (ms)
-- reply: 1, or 0 when the queue does not exist yet
local watched_until = now + tonumber(ARGV[1])
if not exists then
  redis.call('HSET', k_state, 'watched', whole(watched_until))
  return 0
end
f[WATCHED_UNTIL] = math.max(f[WATCHED_UNTIL], watched_until)
write_figures()
return 1
