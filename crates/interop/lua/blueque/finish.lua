-- finish: completes or fails a task on behalf of the listener that holds it.
-- flags: allow-oom
-- args: id, listener, pid (empty: any), `complete` or `fail`, result or error, ticket of this call
-- reply: done (again for the same ticket), not_found, other_queue, lost (another listener holds it), or `status STATUS`
local id, listener, pid, is_good = ARGV[3], ARGV[4], ARGV[5], ARGV[6] == 'complete'
local task = redis.call('HMGET', k_task(id), 'status', 'queue', 'node', 'pid', 'reclaimed_node', 'worker', 'ticket')
local status, node, started_pid = task[1], task[3], task[4]
if not status then
  return 'not_found'
elseif task[2] and task[2] ~= queue then
  return 'other_queue'
elseif is_finished(status) and task[7] == ARGV[8] then
  return 'done'
elseif status ~= 'started' and (status ~= 'reserved' or is_good) then
  return 'status ' .. status
end
if is_document then
  node, started_pid = string.match(task[6] or '', '^(.*) (%S+)$')
end
local is_claimed = task[5] and task[5] ~= listener
if node ~= listener or is_claimed or (pid ~= '' and started_pid and started_pid ~= pid) then
  return 'lost'
end
redis.call('LREM', k_reserved(listener), 0, id)
if started_pid then
  redis.call('SREM', k_started, listener .. ' ' .. started_pid .. ' ' .. id)
end
finish(id, is_good, is_good and 'result' or 'error', ARGV[7])
redis.call('HSET', k_task(id), 'ticket', ARGV[8])
return 'done'
