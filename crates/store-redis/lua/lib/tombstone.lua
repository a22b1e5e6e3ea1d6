-- Tombstones: what a repeated id or unique key gets as its reply after its job ended, or after it changed another job.

-- The reply to an enqueue that a tombstone remembers, and the id of the job that it is about. Returns nil if it expired.
local function remembered(name, tombstone)
  local state, until_ms, code, id = string.match(tombstone or '', '^(%l+) (%d+) ?([' .. DUPLICATE .. REPLACED .. POSTPONED .. ']?)(.*)$')
  if state and tonumber(until_ms) > now then
    id = code ~= '' and id or name
    return (code ~= '' and code or DUPLICATE) .. state .. ' ' .. id, id
  end
end

-- The same for a unique key that may be held after its job ended.
local function remembered_key(key)
  return remembered(HELD_KEY .. key, redis.call('HGET', k_tombstones, HELD_KEY .. key))
end

local function keep_tombstone(name, text, until_ms)
  redis.call('HSET', k_tombstones, name, text)
  redis.call('ZADD', k_forgetting, until_ms, name)
  need_full(until_ms)
end

local function drop_tombstone(name)
  redis.call('HDEL', k_tombstones, name)
  redis.call('ZREM', k_forgetting, name)
end

local function prune_tombstones(limit)
  local total = limit > 0 and redis.call('ZCARD', k_forgetting) or 0
  if total == 0 then
    return 0
  end
  local oldest = redis.call('ZRANGE', k_forgetting, 0, math.min(limit, total) - 1, 'WITHSCORES')
  local names = {}
  for i = 1, #oldest, 2 do
    if tonumber(oldest[i + 1]) > now and total - #names <= rule(DEDUP_MAX) then
      break
    end
    names[#names + 1] = oldest[i]
  end
  if #names > 0 then
    redis.call('ZREM', k_forgetting, unpack(names))
    redis.call('HDEL', k_tombstones, unpack(names))
    is_changed = true
  end
  return #names
end
