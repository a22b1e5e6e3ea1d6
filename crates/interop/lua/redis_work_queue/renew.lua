-- renew: extends a lease that this session still holds.
-- flags: allow-oom
-- args: id, lease (ms), session
-- reply: renewed, lost
local id, lease, session = ARGV[3], ARGV[4], ARGV[5]

if redis.call('GET', lease_key(id)) ~= session or redis.call('EXISTS', item_key(id)) == 0 then
  return 'lost'
end
redis.call('PEXPIRE', lease_key(id), lease)
return 'renewed'
