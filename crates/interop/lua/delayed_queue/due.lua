-- due: moves due jobs from the backlog to the back of the line, the earliest first.
-- args: maximum number of jobs
-- reply: number of ids read, number of jobs moved (ids without a job are only removed)
local ids = redis.call('ZRANGEBYSCORE', jobs, '-inf', now / 1000, 'LIMIT', 0, ARGV[2])
local moved = 0
for _, id in ipairs(ids) do
  redis.call('ZREM', jobs, id)
  if is_job(id) then
    redis.call('LPUSH', due, id)
    moved = moved + 1
  end
end
return { #ids, moved }
