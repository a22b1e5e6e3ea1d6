-- complete: completes an item, with or without its lease. Exactly one caller gets `completed`.
-- flags: allow-oom
-- args: id
-- reply: completed, gone
local id = ARGV[3]

local has_data = redis.call('EXISTS', item_key(id)) == 1
local removed = redis.call('LREM', processing, 0, id)
-- The item was returned to the queue meanwhile; its id must not stay there without data.
if removed == 0 and has_data then
  removed = redis.call('LREM', queue, 0, id)
end
-- In layout 0.1 the client that removes the id from the list completes the item and deletes the data afterwards. Data
-- that is in no list belongs to such a client, or to a cleaner that will return it.
if cleaning and removed == 0 then
  return 'gone'
end
redis.call('DEL', item_key(id), lease_key(id))
redis.call('HDEL', marks, id)
return has_data and 'completed' or 'gone'
