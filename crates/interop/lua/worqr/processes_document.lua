-- processes (document): returns the processes of one page of workers, optionally of one task; read-only.
-- keys: the workers, their queues, the processes in progress, the processes
-- uses: document
-- args: prefix, cursor, `1` to filter by task, that task
-- reply: the next cursor (0: last page), then alternating processes and tasks
local PAGE = 10

local has_filter, wanted = ARGV[3] == '1', ARGV[4]
local page = redis.call('SSCAN', workers, ARGV[2], 'COUNT', PAGE)
local found = {}
for _, worker in ipairs(page[2]) do
  for _, queue in ipairs(redis.call('SMEMBERS', served_key(worker))) do
    for _, process in ipairs(redis.call('SMEMBERS', in_progress_key(worker, queue))) do
      local task = redis.call('LINDEX', process_key(process), 0)
      if task and (not has_filter or task == wanted) then
        found[#found + 1] = process
        found[#found + 1] = task
      end
    end
  end
end
return { page[1], found }
