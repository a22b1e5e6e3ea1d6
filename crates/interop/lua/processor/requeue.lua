-- requeue: returns jobs of silent workers to the front of the queue, in their order: dispatched ones that no worker has
-- accepted, and accepted ones without progress.
-- args: maximum age of dispatched jobs and of progress (seconds), maximum number of jobs
-- reply: number of jobs returned, ms until the newest dispatched job is too old
local lease, silence, page = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- The newest first, so that the oldest is returned last and ends at the front.
local function requeue(set, age, number)
  local ids = redis.call('ZREVRANGEBYSCORE', set, string.format('%.6f', now - age), '-inf', 'LIMIT', 0, number)
  for _, id in ipairs(ids) do
    redis.call('ZREM', set, id)
    redis.call('ZREM', progress, id)
    redis.call('RPUSH', queued, id)
  end
  return #ids
end

-- Accepted jobs are older, so they are returned last.
local returned = requeue(dispatched, lease, page)
if returned < 0 + page then
  returned = returned + requeue(processing, silence, page - returned)
end
local newest = redis.call('ZRANGE', dispatched, -1, -1, 'WITHSCORES')[2]
local wait = newest and math.ceil((tonumber(newest) + lease - now) * 1000) or 0
return { returned, math.max(wait, 0) }
