-- lease: moves the next item to processing and sets its lease. Drops ids without data. In layout 0.3 an item with a
-- lease is being worked on, so it is moved to processing and not handed out. In layout 0.1 its holder may already have
-- got `false` from complete, so it is handed out.
-- args: lease (ms), session
-- reply: leased, id, data; or none; or more, if a whole page was skipped (call again)
local lease, session = ARGV[3], ARGV[4]
local PAGE = 100

for _ = 1, PAGE do
  local id = redis.call('LINDEX', queue, -1)
  if not id then
    return { 'none' }
  end
  local data = redis.call('GET', item_key(id))
  if not data then
    redis.call('RPOP', queue)
    redis.call('LREM', processing, 0, id)
  elseif not cleaning and redis.call('EXISTS', lease_key(id)) == 1 then
    redis.call('LREM', processing, 0, id)
    redis.call('LMOVE', queue, processing, 'RIGHT', 'LEFT')
  else
    redis.call('LMOVE', queue, processing, 'RIGHT', 'LEFT')
    redis.call('SET', lease_key(id), session, 'PX', lease)
    redis.call('HDEL', marks, id)
    return { 'leased', id, data }
  end
end
return { 'more' }
