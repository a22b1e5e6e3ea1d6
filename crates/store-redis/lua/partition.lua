-- partition: how many parts the queue has, as this part knows it; tells it so first where asked.
-- keys: state
-- uses: stats
-- flags: allow-oom
-- args: how many parts there are from now on (0: only look), waiting jobs past which more are asked for (0: never)
-- reply: how many parts, then the numbers there were before
if not exists then
  return { 1 }
end
local earlier = redis.call('HGET', k_state, 'earlier') or ''
local wanted, grow_at = tonumber(ARGV[1]), tonumber(ARGV[2])
if wanted > 0 then
  if wanted > f[PARTITIONS] then
    earlier = earlier .. whole(f[PARTITIONS]) .. ' '
    redis.call('HSET', k_state, 'earlier', earlier)
    f[PARTITIONS] = wanted
  end
  f[GROW_AT] = grow_at
  write_figures()
end
local reply = { f[PARTITIONS] }
for count in string.gmatch(earlier, '%d+') do
  reply[#reply + 1] = tonumber(count)
end
return reply
