-- set: changes settings of the queue.
-- keys: state settings leases owners sleepers wake hints
-- uses: stats notify
-- flags:
-- args: per setting its name, text, position in the rules (0: not a rule), number
-- reply: `absent` if the queue does not exist; else name and text of every stored setting
if not exists then
  return 'absent'
end
rule(DEDUP_FOR) -- unpacks them
for i = 1, #ARGV - 3, 4 do
  redis.call('HSET', k_settings, ARGV[i], ARGV[i + 1])
  local position = tonumber(ARGV[i + 2])
  if position > 0 then
    rules[position] = tonumber(ARGV[i + 3])
  end
end
redis.call('HSET', k_state, RULES_FIELD, struct.pack(RULES_FORMAT, unpack(rules, 1, RULES_COUNT)))
is_changed = true
need_full(0)
commit()
return redis.call('HGETALL', k_settings)
