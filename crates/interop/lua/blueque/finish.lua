-- finish: a task ends, well or not, by the listener that holds it, once.
-- flags: allow-oom
-- args: id, listener, pid (empty: whichever started it), `complete` or `fail`, result or error, ticket of this call
-- reply: done (also to the same ticket), not_found, other_queue, lost (somebody else holds it), or `status WORD`
local id, listener, pid, is_good = ARGV[3], ARGV[4], ARGV[5], ARGV[6] == 'complete'
local task = redis.call('HMGET', k_task(id), 'status', 'queue', 'node', 'pid', 'reclaimed_node', 'worker', 'ticket')
local status, node, at = task[1], task[3], task[4]
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
  node, at = string.match(task[6] or '', '^(.*) (%S+)$')
end
local is_claimed = task[5] and task[5] ~= listener
if node ~= listener or is_claimed or (pid ~= '' and at and at ~= pid) then
  return 'lost'
end
redis.call('LREM', k_reserved(listener), 0, id)
if at then
  redis.call('SREM', k_started, listener .. ' ' .. at .. ' ' .. id)
end
finish(id, is_good, is_good and 'result' or 'error', ARGV[7])
redis.call('HSET', k_task(id), 'ticket', ARGV[8])
return 'done'
