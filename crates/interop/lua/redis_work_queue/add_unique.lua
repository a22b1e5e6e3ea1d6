-- add_unique: adds an item without checking whether its id exists.
-- args: id, data
-- reply: added
local id, data = ARGV[3], ARGV[4]

redis.call('SET', item_key(id), data)
redis.call('LPUSH', queue, id)
return 'added'
