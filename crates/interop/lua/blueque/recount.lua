-- count: the figure of a queue is the number of its listeners again, where nobody changed either meanwhile.
-- args: figure and number of listeners as they were seen
-- reply: 1, or 0 when somebody did
local figure = redis.call('ZSCORE', k_queues, queue)
local listeners = redis.call('SCARD', k_listeners)
if (figure or '') ~= ARGV[3] or tostring(listeners) ~= ARGV[4] then
  return 0
end
redis.call('ZADD', k_queues, listeners, queue)
return 1
