-- submit: stores a job and adds it to the backlog.
-- args: id, payload, `at` or `after`, seconds
-- reply: due time in seconds
local id, payload, base, at = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

if base == 'after' then
  -- Rounded up to whole seconds, so that the job is not due early.
  at = at == 0 and seconds or math.ceil(now / 1000 + at)
end
redis.call('HSET', job_key(id), 'payload', payload, 'dueTime', at)
redis.call('ZADD', jobs, at, id)
return at
