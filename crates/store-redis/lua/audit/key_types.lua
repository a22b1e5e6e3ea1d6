-- audit/key_types: reads the Redis type of each key of the queue.
-- keys: state settings jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting schedules plans firing refilling names lined working turns resting recheck groups group_names history sleepers wake
-- uses:
-- flags: no-writes
-- guards: lazy
-- args: none
-- reply: the type of each key, `none` if it does not exist
local types = {}
for i = 1, #KEYS do
  types[i] = redis.call('TYPE', KEYS[i]).ok
end
return types
