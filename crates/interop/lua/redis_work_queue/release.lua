-- release: returns an item leased by this session to the front of the queue, because it was not tried.
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
-- An original cleaner may have returned it before its lease was set.
if not is_in(queue, id) then
  redis.call('RPUSH', queue, id)
end
return 'released'
