-- find: looks up existing jobs, each by id, then by unique key.
-- keys: state jobs scheduled running unique final tombstones
-- uses: stats state
-- flags: no-writes
-- args: number of partitions the caller knows of; then id and unique key (may be empty) per job
-- reply: per job `DUPLICATE STATE SPACE ID` of the existing job, or an empty string; an empty list if this partition knows of fewer partitions and so may still accept the jobs
if stats[PARTITIONS] < tonumber(ARGV[1]) then
  return {}
end

local function existing_job(id, key)
  local state = state_of(id)
  if state then
    return DUPLICATE .. state .. ' ' .. id
  end
  local ended, until_ms = string.match(redis.call('HGET', k_tombstones, id) or '', '^(%l+) (%d+)$')
  if ended and tonumber(until_ms) > now then
    return DUPLICATE .. ended .. ' ' .. id
  end
  local holder = key ~= '' and redis.call('HGET', k_unique, key)
  state = holder and state_of(holder)
  return state and DUPLICATE .. state .. ' ' .. holder or ''
end

local replies = {}
for i = 2, #ARGV - 1, 2 do
  replies[#replies + 1] = exists and existing_job(ARGV[i], ARGV[i + 1]) or ''
end
return replies
