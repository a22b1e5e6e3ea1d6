-- rescue: returns jobs that have been in unackedJobs with the same pickup time for too long. The time is counted from
-- when a rescue first sees that, so the clocks of the workers do not matter.
-- args: maximum age (ms), number of ids to skip, number of ids to read
-- reply: number of ids read, number left, number returned, number removed because they are no jobs, ms until the last of
--   those left is too old
local limit, skip, page = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
-- Longer lists are not compared with the marks, to limit how long the script blocks the server.
local PRUNE_MAX = 10000

-- Returns for how long this id has been seen with its current pickup time, or nil the first time.
local function seen_for(id)
  local picked = redis.call('HGET', job_key(id), 'pickupTime') or ''
  local mark = redis.call('HGET', marks, id)
  local since, marked = string.match(mark or '', '^(%d+) (.*)$')
  if since and marked == picked then
    return now - tonumber(since)
  end
  redis.call('HSET', marks, id, string.format('%.0f ', now) .. picked)
  return nil
end

-- Originals do not remove the marks of jobs they finish.
local function prune()
  local length = redis.call('LLEN', unacked)
  if length > 0 + PRUNE_MAX or redis.call('HLEN', marks) <= 0 + length then
    return
  end
  local is_there = {}
  for _, id in ipairs(redis.call('LRANGE', unacked, 0, -1)) do
    is_there[id] = true
  end
  for _, id in ipairs(redis.call('HKEYS', marks)) do
    if not is_there[id] then
      redis.call('HDEL', marks, id)
    end
  end
end

-- The newest first, so that the oldest is returned last and ends at the front.
local ids = redis.call('LRANGE', unacked, skip, skip + page - 1)
local returned, removed, wait_max = 0, 0, 0
for _, id in ipairs(ids) do
  local age = seen_for(id)
  if not age or age < limit then
    wait_max = math.max(wait_max, limit - (age or 0))
  else
    redis.call('LREM', unacked, 1, id)
    redis.call('HDEL', marks, id)
    if is_job(id) then
      give_back(id)
      returned = returned + 1
    else
      redis.call('DEL', job_key(id))
      removed = removed + 1
    end
  end
end
if #ids < page then
  prune()
end
return { #ids, #ids - returned - removed, returned, removed, wait_max }
