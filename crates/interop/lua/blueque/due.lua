-- due: moves due delayed tasks to the end of the queue, the earliest first.
-- args: maximum number of tasks
-- reply: number of ids checked, number of tasks moved (ids without a record are only removed)
local due = redis.call('ZRANGEBYSCORE', k_scheduled, '-inf', now, 'LIMIT', 0, ARGV[3])
local records = {}
for _, id in ipairs(due) do
  records[id] = redis.call('HEXISTS', k_task(id), 'status')
end
local moved = 0
for _, id in ipairs(due) do
  redis.call('ZREM', k_scheduled, id)
  if records[id] == 1 then
    redis.call('HSET', k_task(id), 'status', 'pending', 'updated', now)
    put_last(id)
    moved = moved + 1
  end
end
return { #due, moved }
