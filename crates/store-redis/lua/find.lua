-- find: looks up existing jobs, each by id, then by unique key.
-- keys: state jobs scheduled running unique final tombstones forgetting
-- uses: stats state tombstone
-- flags: no-writes
-- args: number of partitions the caller knows of; then id and unique key (may be empty) per job
-- reply: per job `DUPLICATE STATE SPACE ID` of the existing job, the reply that is remembered of its id or key, or an empty string; an empty list if this partition knows of fewer partitions and so may still accept the jobs
if stats[PARTITIONS] < tonumber(ARGV[1]) then
  return {}
end

local function existing_job(id, key)
  local state = state_of(id)
  if state then
    return DUPLICATE .. state .. ' ' .. id
  end
  local reply = remembered(id, redis.call('HGET', k_tombstones, id))
  if reply then
    return reply
  end
  local holder = key ~= '' and redis.call('HGET', k_unique, key)
  state = holder and state_of(holder)
  if state then
    return DUPLICATE .. state .. ' ' .. holder
  end
  return key ~= '' and remembered_key(key) or ''
end

local replies = {}
for i = 2, #ARGV - 1, 2 do
  replies[#replies + 1] = exists and existing_job(ARGV[i], ARGV[i + 1]) or ''
end
return replies
