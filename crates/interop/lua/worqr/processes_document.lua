-- processes (document): the processes of one page of workers, of any task or of one; changes nothing.
-- keys: the workers, their queues, the processes in progress, the processes
-- uses: document
-- args: prefix, cursor, `1` for one task only, that task
-- reply: the next cursor (0: that was all), then process and task by turns
local AT_ONCE = 10

local is_one, wanted = ARGV[3] == '1', ARGV[4]
local page = redis.call('SSCAN', workers, ARGV[2], 'COUNT', AT_ONCE)
local found = {}
for _, worker in ipairs(page[2]) do
  for _, queue in ipairs(redis.call('SMEMBERS', served_key(worker))) do
    for _, process in ipairs(redis.call('SMEMBERS', doing_key(worker, queue))) do
      local task = redis.call('LINDEX', process_key(process), 0)
      if task and (not is_one or task == wanted) then
        found[#found + 1] = process
        found[#found + 1] = task
      end
    end
  end
end
return { page[1], found }
