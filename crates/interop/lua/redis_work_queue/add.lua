-- add: adds an item, unless its id already exists.
-- args: id, data
-- reply: added, duplicate
local id, data = ARGV[3], ARGV[4]

-- In layout 0.1 an id in a list is an item even without data; adding it again would hand it out twice.
if redis.call('EXISTS', item_key(id)) == 1 then
  return 'duplicate'
end
if cleaning and (is_in(processing, id) or is_in(cleaning, id) or is_in(queue, id)) then
  return 'duplicate'
end
redis.call('SET', item_key(id), data)
redis.call('LPUSH', queue, id)
return 'added'
