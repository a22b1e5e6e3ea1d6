-- release: gives an item back that this session holds, to the front: it was not tried, so it is next.
-- flags: allow-oom
-- args: id, session
-- reply: released, lost
local id, session = ARGV[3], ARGV[4]

if redis.call('GET', lease_key(id)) ~= session or redis.call('EXISTS', item_key(id)) == 0 then
  return 'lost'
end
redis.call('DEL', lease_key(id))
redis.call('HDEL', marks, id)
redis.call('LREM', processing, 0, id)
-- Somebody's cleaner may have put it back before its lease was set.
if not is_in(queue, id) then
  redis.call('RPUSH', queue, id)
end
return 'released'
