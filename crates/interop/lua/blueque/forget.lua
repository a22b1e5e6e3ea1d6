-- forget: a lost listener whose tasks have all found a place leaves no trace.
-- flags: allow-oom
-- args: listener
-- reply: 1, or 0 when it still holds something or is alive
local listener = ARGV[3]
if is_alive(listener) or redis.call('LLEN', k_reserved(listener)) > 0 then
  return 0
end
redis.call('ZREM', k_beats, listener)
redis.call('DEL', k_worker(listener))
return 1
