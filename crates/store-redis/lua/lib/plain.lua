-- The short way of a claim: plain jobs, which are most, in whole pages.

-- Takes jobs without a look at each, where no job has opts and no entry is stale.
-- Nothing when an entry has no payload: then each must be looked at.
local function take_plain(max)
  local taken, ids, payloads = 0, {}, {}
  local lanes = {}
  for priority = 0, 9 do
    if f[READY + priority] > 0 and taken < max then
      local entries = redis.call('LRANGE', k_ready[priority], 0, max - taken - 1)
      local found = #entries > 0 and redis.call('HMGET', k_jobs, unpack(entries)) or {}
      for i = 1, #entries do
        if not found[i] then
          return nil
        end
        taken = taken + 1
        ids[taken], payloads[taken] = entries[i], found[i]
      end
      lanes[priority] = #entries
    end
  end
  for priority, count_taken in pairs(lanes) do
    redis.call('LTRIM', k_ready[priority], count_taken, -1)
    f[BASE + priority] = f[BASE + priority] + count_taken
    f[READY + priority] = f[READY + priority] - count_taken
  end
  return { total = taken, ids = ids, payloads = payloads, lanes = lanes }
end

-- Hands out plain jobs, lane after lane.
local function hand_out_plain(request, taken)
  local token = next_token(request)
  local owner = request.owner == '' and 't:' .. token or request.owner
  local ids, payloads, tail = taken.ids, taken.payloads, tail_of(request)
  local holds, reply, at = {}, { token, 0, 0, f[PARTITIONS] }, 0
  for priority = 0, 9 do
    -- Most holds are the same text: written once for each length of payload.
    local texts = {}
    for _ = 1, taken.lanes[priority] or 0 do
      at = at + 1
      local id, payload = ids[at], payloads[at]
      local length = #payload
      local text = texts[length]
      if not text then
        text = token .. '\t' .. priority .. '-' .. length .. tail
        texts[length] = text
      end
      holds[2 * at - 1], holds[2 * at] = id, text
      reply[3 * at + 2], reply[3 * at + 3], reply[3 * at + 4] = id, payload, ''
    end
  end
  reply[2] = record(request, owner, token, ids, holds, nil)
  return reply
end
