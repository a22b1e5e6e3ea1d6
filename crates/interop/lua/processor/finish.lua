-- finish: removes a migrated job.
-- flags: allow-oom
-- args: id, score
-- reply: finished; gone: it was returned to the queue or accepted by a worker meanwhile
local id, score = ARGV[2], ARGV[3]
if redis.call('ZSCORE', dispatched, id) ~= score then
  return 'gone'
end
redis.call('ZREM', dispatched, id)
-- A job that was added again after it had finished shares its hash with the finished one.
if not redis.call('ZSCORE', finished, id) then
  redis.call('DEL', id)
end
return 'finished'
