-- Remembers this call and its reply in the slot of the call, in the same command that writes the stats. The next call in
-- the slot replaces it.
local CALL_MEMORY, CALLS_PAGE = 900000, 10 -- longer than the store sends a call again
local call_reply = {}

-- Forgets old calls in a page of the slots; each new slot continues with the next page. Their clients have ended.
local function forget_calls()
  local cursor = redis.call('HGET', k_state, CALLS_FIELD) or '0'
  local page = redis.call('HSCAN', k_state, cursor, 'MATCH', CALLS_FIELD .. '?*', 'COUNT', CALLS_PAGE)
  redis.call('HSET', k_state, CALLS_FIELD, page[1])
  for i = 1, #page[2], 2 do
    local at = tonumber(string.match(page[2][i + 1], '^%d+ (%d+)') or 0)
    if math.abs(now - at) > CALL_MEMORY then
      redis.call('HDEL', k_state, page[2][i])
    end
  end
end

write_stats = function()
  if not stored[3] then
    forget_calls()
  end
  local call = ARGV[CALL_NUMBER] .. ' ' .. digits(now) .. ' ' .. table.concat(call_reply, '\n')
  redis.call('HSET', k_state, STATS_FIELD, struct.pack(STATS_FORMAT, unpack(stats, 1, STATS_COUNT)), ARGV[CALL_SLOT], call)
end
