-- nack: returns a job that was not finished.
-- flags: allow-oom
-- args: id, ticket, `front`, `back` or `after`, delay in seconds
-- reply: returned; gone: it was returned or removed meanwhile
local id, ticket, destination, delay = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

if not is_held(id, ticket) or redis.call('LREM', unacked, 1, id) == 0 then
  return 'gone'
end
redis.call('HDEL', marks, id)
if destination == 'front' then
  give_back(id)
  return 'returned'
end
redis.call('HDEL', job_key(id), 'ticket')
if destination == 'back' then
  redis.call('LPUSH', due, id)
else
  redis.call('ZADD', jobs, now / 1000 + delay, id)
end
return 'returned'
