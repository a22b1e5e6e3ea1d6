-- Remembers this call and its reply in the slot of the call, in the same command that writes the stats. The next call in
-- the slot replaces it.
local call_reply = {}

write_stats = function()
  local call = ARGV[CALL_NUMBER] .. ' ' .. digits(now) .. ' ' .. table.concat(call_reply, '\n')
  redis.call('HSET', k_state, STATS_FIELD, struct.pack(STATS_FORMAT, unpack(stats, 1, STATS_COUNT)), ARGV[CALL_SLOT], call)
end
