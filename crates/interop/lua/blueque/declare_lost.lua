-- condemn: a listener is declared lost. It hears so at its next call, and no original can claim from it any more.
-- flags: allow-oom
-- args: listener, `told` when somebody knows that it is lost, else empty
-- reply: ours, or alive (it gave a sign of life), or gone (an original removed it first: it may be claiming)
local listener = ARGV[3]
if is_alive(listener) and ARGV[4] ~= 'told' then
  return 'alive'
end
local is_ours = redis.call('ZSCORE', k_beats, listener)
local removed = redis.call('SREM', k_listeners, listener)
if removed == 1 then
  redis.call('ZINCRBY', k_queues, -1, queue)
end
if removed == 0 and not is_ours and ARGV[4] ~= 'told' then
  return 'gone'
end
redis.call('ZADD', k_beats, 0, listener)
return 'ours'
