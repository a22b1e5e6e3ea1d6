-- ack: removes a finished job.
-- flags: allow-oom
-- args: id, ticket
-- reply: acked; gone: it was returned or removed meanwhile
local id, ticket = ARGV[2], ARGV[3]

if not is_held(id, ticket) then
  return 'gone'
end
-- An original that had the job before may have returned it meanwhile; its work is done.
if redis.call('LREM', unacked, 1, id) == 0 then
  redis.call('LREM', due, 1, id)
end
redis.call('DEL', job_key(id))
redis.call('HDEL', marks, id)
return 'acked'
