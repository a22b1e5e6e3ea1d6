-- schedule/list: reads one schedule, or a page of them, ordered by name.
-- keys: state schedules plans names
-- uses: stats
-- flags: no-writes
-- args: `one` and a name; or `page`, the name after which to begin (may be empty) and the limit
-- reply: number of partitions as this one knows it; 1 if there are more; per schedule its name, definition and plan
local BYTES_MAX = 4194304
local reply = { stats[PARTITIONS], 0 }
if not has_schedules then
  return reply
end
local names = { ARGV[2] }
if ARGV[1] == 'page' then
  local limit = tonumber(ARGV[3])
  names = redis.call('ZRANGEBYLEX', k_names, ARGV[2] == '' and '-' or '(' .. ARGV[2], '+', 'LIMIT', 0, limit + 1)
  reply[2] = #names > limit and 1 or 0
  names[limit + 1] = nil
end
local bytes = 0
for i = 1, #names do
  if bytes > BYTES_MAX then
    reply[2] = 1
    break
  end
  local definition, plan = redis.call('HGET', k_schedules, names[i]), redis.call('HGET', k_plans, names[i])
  if definition then
    reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = names[i], definition, plan or ''
    bytes = bytes + #definition
  end
end
return reply
