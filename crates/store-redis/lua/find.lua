-- find: the job that was there first, by id, then by unique key.
-- keys: state jobs scheduled running unique final tombstones
-- uses: figures state
-- flags: no-writes
-- args: id, unique key (or empty)
-- reply: `=STATE ID`, or an empty text
if not exists then
  return ''
end
local id, key = ARGV[1], ARGV[2]
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
