-- look: a page of one of the lists, read from its right end; changes nothing.
-- args: list (queue, processing or cleaning), how many to skip, how many to read
-- reply: per id: the id, 1 when it has data, 1 when it has a lease
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
