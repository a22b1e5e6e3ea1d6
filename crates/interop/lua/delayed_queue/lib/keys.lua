-- keys: the keys of a queue, and the time. The prefix is that of the original.
-- args: prefix, then the arguments of the script
local jobs, due, unacked = ARGV[1] .. ':jobs', ARGV[1] .. ':dueJobs', ARGV[1] .. ':unackedJobs'
-- Added by Windlass: since when an id is in unackedJobs, and its pickup time then.
local marks = ARGV[1] .. ':windlass:unacked'

local time = redis.call('TIME')
local seconds = tonumber(time[1])
local now = seconds * 1000 + math.floor(tonumber(time[2]) / 1000)

local function job_key(id)
  return ARGV[1] .. ':job:' .. id
end

-- An id without a payload is no job: another client has finished it.
local function is_job(id)
  return redis.call('HEXISTS', job_key(id), 'payload') == 1
end

-- Whether the call with this ticket took the job, and nobody has returned it since.
local function is_held(id, ticket)
  return redis.call('HGET', job_key(id), 'ticket') == ticket
end

-- Returns a job to where it was: to the backlog if it is not due yet, because a bridge also takes those.
local function give_back(id)
  redis.call('HDEL', job_key(id), 'ticket')
  local at = tonumber(redis.call('HGET', job_key(id), 'dueTime') or '')
  if at and at * 1000 > now then
    redis.call('ZADD', jobs, at, id)
  else
    redis.call('RPUSH', due, id)
  end
end
