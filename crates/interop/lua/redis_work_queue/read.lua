-- read: returns a page of one of the lists, from its right end; read-only.
-- args: list (queue, processing or cleaning), number of ids to skip, number of ids to read
-- reply: per id: the id, 1 if it has data, 1 if it has a lease
local list, skip, page = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local LISTS = { queue = queue, processing = processing, cleaning = cleaning }

local ids = redis.call('LRANGE', LISTS[list], -skip - page, -skip - 1)
local reply = {}
for i = #ids, 1, -1 do
  reply[#reply + 1] = ids[i]
  reply[#reply + 1] = redis.call('EXISTS', item_key(ids[i]))
  reply[#reply + 1] = redis.call('EXISTS', lease_key(ids[i]))
end
return reply
