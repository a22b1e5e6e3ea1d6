-- renew: sets the pickup time of a job to now, so that no monitor takes it back.
-- flags: allow-oom
-- args: id, ticket
-- reply: renewed; gone: it was returned or removed meanwhile
local id, ticket = ARGV[2], ARGV[3]

if not is_held(id, ticket) or not redis.call('LPOS', unacked, id) then
  return 'gone'
end
redis.call('HSET', job_key(id), 'pickupTime', seconds)
redis.call('HDEL', marks, id)
return 'renewed'
