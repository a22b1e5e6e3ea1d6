-- recount: sets the recorded number of listeners to the actual one, unless either changed meanwhile.
-- args: expected recorded and actual number of listeners
-- reply: 1, or 0 if either changed
local recorded = redis.call('ZSCORE', k_queues, queue)
local listeners = redis.call('SCARD', k_listeners)
if (recorded or '') ~= ARGV[3] or tostring(listeners) ~= ARGV[4] then
  return 0
end
redis.call('ZADD', k_queues, listeners, queue)
return 1
