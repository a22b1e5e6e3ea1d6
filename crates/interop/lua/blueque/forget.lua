-- forget: removes a lost listener after all of its tasks were recovered.
-- flags: allow-oom
-- args: listener
-- reply: 1, or 0 if it still holds tasks or is alive
local listener = ARGV[3]
if is_alive(listener) or redis.call('LLEN', k_reserved(listener)) > 0 then
  return 0
end
redis.call('ZREM', k_heartbeats, listener)
redis.call('DEL', k_worker(listener))
return 1
