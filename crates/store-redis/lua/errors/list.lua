-- errors/list: reads the groups of errors.
-- keys: state error_groups
-- uses: stats
-- flags: no-writes
-- args: none
-- reply: now; then name and record of each group
local reply = { now }
local groups = exists and redis.call('HGETALL', k_error_groups) or {}
for i = 1, #groups do
  reply[i + 1] = groups[i]
end
return reply
