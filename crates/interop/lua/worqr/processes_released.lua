-- processes (released): returns one page of the processes in progress, optionally of one task; read-only.
-- keys: the processes
-- uses: released
-- args: prefix, cursor, `1` to filter by task, that task, pattern of the processes' keys
-- reply: the next cursor (0: last page), then alternating processes and tasks
local PAGE = 1000

local has_filter, wanted, pattern = ARGV[3] == '1', ARGV[4], ARGV[5]
local page = redis.call('SCAN', ARGV[2], 'MATCH', pattern, 'COUNT', PAGE, 'TYPE', 'list')
local found = {}
for _, key in ipairs(page[2]) do
  local task = redis.call('LINDEX', key, 0)
  if task and (not has_filter or task == wanted) then
    found[#found + 1] = string.sub(key, #process_key('') + 1)
    found[#found + 1] = task
  end
end
return { page[1], found }
