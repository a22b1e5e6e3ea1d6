-- Tells the workers of a queue how many tasks wait, if any do.
local function notify(queue)
  local waiting = redis.call('LLEN', queue_key(queue))
  if waiting > 0 then
    redis.call('PUBLISH', channel(queue, 'work'), waiting)
  end
  return waiting
end
