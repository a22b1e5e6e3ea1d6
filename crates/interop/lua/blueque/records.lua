-- records: returns the records of tasks, in the order of their ids; read-only.
-- args: ids
-- reply: now (seconds); then status, queue, updated, pid, reclaimed_node and worker of each
local fields = { 'status', 'queue', 'updated', 'pid', 'reclaimed_node', 'worker' }
local reply = { now }
for i = 3, #ARGV do
  local task = redis.call('HMGET', k_task(ARGV[i]), unpack(fields))
  for j = 1, #fields do
    reply[#reply + 1] = task[j] or ''
  end
end
return reply
