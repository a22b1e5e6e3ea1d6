-- set: changes settings of the queue.
-- keys: state settings leases owners sleepers wake hints
-- uses: stats notify
-- flags:
-- args: for each: name, text, place in the rules (0: none), number
-- reply: `absent` when the queue does not exist; else all settings that were ever set: name, text, …
if not exists then
  return 'absent'
end
rule(1)
for i = 1, #ARGV - 3, 4 do
  redis.call('HSET', k_settings, ARGV[i], ARGV[i + 1])
  local place = tonumber(ARGV[i + 2])
  if place > 0 then
    rules[place] = tonumber(ARGV[i + 3])
  end
end
redis.call('HSET', k_state, 'rules', struct.pack('<dddddddddddddd', unpack(rules, 1, 14)))
is_changed = true
commit()
return redis.call('HGETALL', k_settings)
