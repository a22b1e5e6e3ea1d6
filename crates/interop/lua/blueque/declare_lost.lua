-- declare_lost: declares a listener lost. Its next call fails, and no original can claim from it any more.
-- flags: allow-oom
-- args: listener, `known` if the caller knows that it is lost, else empty
-- reply: declared; or alive (it sent a heartbeat); or gone (an original removed it first and may be claiming a task)
local listener = ARGV[3]
if is_alive(listener) and ARGV[4] ~= 'known' then
  return 'alive'
end
local is_ours = redis.call('ZSCORE', k_heartbeats, listener)
local removed = redis.call('SREM', k_listeners, listener)
if removed == 1 then
  redis.call('ZINCRBY', k_queues, -1, queue)
end
if removed == 0 and not is_ours and ARGV[4] ~= 'known' then
  return 'gone'
end
redis.call('ZADD', k_heartbeats, 0, listener)
return 'declared'
