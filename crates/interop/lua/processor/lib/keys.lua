-- keys: the keys of a queue, and the time. A job is a hash under its uuid.
-- args: queue, then the arguments of the script
local queued, dispatched = 'jobs_queued:' .. ARGV[1], 'jobs_dispatched:' .. ARGV[1]
local processing, progress = 'jobs_processing:' .. ARGV[1], 'jobs_progress:' .. ARGV[1]
local finished = 'jobs_finished:' .. ARGV[1]

-- Seconds with a fraction, as in the original.
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000

-- Dispatches a job now. Returns its score, which shows whether the same caller still has it.
local function dispatch(id)
  redis.call('ZADD', dispatched, string.format('%.6f', now), id)
  return redis.call('ZSCORE', dispatched, id)
end
