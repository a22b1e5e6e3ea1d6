-- Publishes the number of waiting tasks of a queue, if any. Returns that number.
local function notify(queue)
  local waiting = redis.call('LLEN', queue_key(queue))
  if waiting > 0 then
    redis.call('PUBLISH', channel(queue, 'work'), waiting)
  end
  return waiting
end
