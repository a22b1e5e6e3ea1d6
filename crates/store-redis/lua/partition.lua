-- partition: reads the number of partitions as this one knows it, after setting it if requested.
-- keys: state
-- uses: stats
-- flags: allow-oom
-- args: new number of partitions (0: only read), number of waiting jobs above which to ask for more (0: never)
-- reply: number of partitions, then earlier numbers
if not exists then
  return { 1 }
end
local earlier = redis.call('HGET', k_state, EARLIER_FIELD) or ''
local wanted, grow_at = tonumber(ARGV[1]), tonumber(ARGV[2])
if wanted > 0 then
  if wanted > stats[PARTITIONS] then
    earlier = earlier .. digits(stats[PARTITIONS]) .. ' '
    redis.call('HSET', k_state, EARLIER_FIELD, earlier)
    stats[PARTITIONS] = wanted
  end
  stats[GROW_AT] = grow_at
  write_stats()
end
local reply = { stats[PARTITIONS] }
for count in string.gmatch(earlier, '%d+') do
  reply[#reply + 1] = tonumber(count)
end
return reply
