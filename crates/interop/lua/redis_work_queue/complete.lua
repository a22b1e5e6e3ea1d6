-- complete: ends an item, whoever holds its lease. Of all callers one is told that it did.
-- flags: allow-oom
-- args: id
-- reply: completed, gone
local id = ARGV[3]

local has_data = redis.call('EXISTS', item_key(id)) == 1
local removed = redis.call('LREM', processing, 0, id)
-- It was taken back meanwhile. Without this its id would stay behind as one without an item.
if removed == 0 and has_data then
  removed = redis.call('LREM', queue, 0, id)
end
-- In the layout 0.1 whoever takes the id out of the list has completed it, and removes the data afterwards. Data that
-- is in no list is in the hands of such a client, or of a cleaner that will bring it back.
if cleaning and removed == 0 then
  return 'gone'
end
redis.call('DEL', item_key(id), lease_key(id))
redis.call('HDEL', marks, id)
return has_data and 'completed' or 'gone'
