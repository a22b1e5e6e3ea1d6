-- find: the jobs that were there first, each by id, then by unique key.
-- keys: state jobs scheduled running unique final tombstones
-- uses: stats state
-- flags: no-writes
-- args: how many partitions the caller knows of; then id and unique key (or empty) of each job
-- reply: `=STATE ID` of the job that was there first, or an empty text, of each; nothing at all where this part knows of fewer partitions, and so may still take the jobs
if f[PARTITIONS] < tonumber(ARGV[1]) then
  return {}
end

local function first_of(id, key)
  local state = state_of(id)
  if state then
    return '=' .. state .. ' ' .. id
  end
  local word, until_ms = string.match(redis.call('HGET', k_tombstones, id) or '', '^(%l+) (%d+)$')
  if word and tonumber(until_ms) > now then
    return '=' .. word .. ' ' .. id
  end
  local holder = key ~= '' and redis.call('HGET', k_unique, key)
  state = holder and state_of(holder)
  return state and '=' .. state .. ' ' .. holder or ''
end

local replies = {}
for i = 2, #ARGV - 1, 2 do
  replies[#replies + 1] = exists and first_of(ARGV[i], ARGV[i + 1]) or ''
end
return replies
