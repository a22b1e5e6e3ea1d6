-- processes (released): one page of the processes in progress, of any task or of one; changes nothing.
-- keys: the processes
-- uses: released
-- args: prefix, cursor, `1` for one task only, that task, pattern of the processes' keys
-- reply: the next cursor (0: that was all), then process and task by turns
local AT_ONCE = 1000

local is_one, wanted, pattern = ARGV[3] == '1', ARGV[4], ARGV[5]
local page = redis.call('SCAN', ARGV[2], 'MATCH', pattern, 'COUNT', AT_ONCE, 'TYPE', 'list')
local found = {}
for _, key in ipairs(page[2]) do
  local task = redis.call('LINDEX', key, 0)
  if task and (not is_one or task == wanted) then
    found[#found + 1] = string.sub(key, #process_key('') + 1)
    found[#found + 1] = task
  end
end
return { page[1], found }
