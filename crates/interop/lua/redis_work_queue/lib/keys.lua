-- keys: the keys of a queue. Only layout 0.1 has a cleaning list.
-- keys: queue processing marks [cleaning]
-- args: prefix of item keys, prefix of lease keys, then the arguments of the script
local queue, processing, marks, cleaning = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local function item_key(id)
  return ARGV[1] .. id
end

local function lease_key(id)
  return ARGV[2] .. id
end

local function is_in(list, id)
  return list and redis.call('LPOS', list, id) and true or false
end
