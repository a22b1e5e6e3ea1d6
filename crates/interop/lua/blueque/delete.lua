-- delete: removes the record of a finished task and its entries in the lists of completed and failed tasks.
-- flags: allow-oom
-- args: id
-- reply: done, not_found, other_queue, or `status STATUS` if it is not finished
local id = ARGV[3]
local task = redis.call('HMGET', k_task(id), 'status', 'queue')
if not task[1] then
  return 'not_found'
elseif task[2] and task[2] ~= queue then
  return 'other_queue'
elseif not is_finished(task[1]) then
  return 'status ' .. task[1]
end
redis.call('DEL', k_task(id))
-- The original lists an id twice when a task is completed twice.
redis.call('LREM', k_complete, 0, id)
redis.call('LREM', k_failed, 0, id)
return 'done'
