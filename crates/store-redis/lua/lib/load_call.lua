-- Loads the stats and the rules of the queue, and the latest call in the slot of this one. A call that was applied returns
-- its first reply: the store sends a call again if the reply is lost.
local stored = redis.call('HMGET', k_state, STATS_FIELD, RULES_FIELD, SCHEDULES_FIELD, GROUPS_FIELD, REST_FIELD, ARGV[CALL_SLOT])
local latest_call = tonumber(stored[6] and string.match(stored[6], '^%d+') or 0)
if latest_call >= tonumber(ARGV[CALL_NUMBER]) then
  if latest_call > tonumber(ARGV[CALL_NUMBER]) then
    return redis.error_reply('LATE the store has given up this call')
  end
  -- The first call must have reached the replicas too: WAIT needs a write to wait for.
  redis.call('HSET', k_state, ARGV[CALL_SLOT], stored[6])
  local reply = {}
  for item in string.gmatch(string.match(stored[6], '^%d+ %d+ (.*)$') .. '\n', '([^\n]*)\n') do
    reply[#reply + 1] = item
  end
  return reply
end
