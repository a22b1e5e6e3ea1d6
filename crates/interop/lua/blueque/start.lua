-- start: starts a task on behalf of its listener and records the pid; can be repeated with another pid.
-- args: id, listener, pid
-- reply: done, not_found, other_queue, lost (another listener holds it), or `status STATUS`
local id, listener, pid = ARGV[3], ARGV[4], ARGV[5]
local task = redis.call('HMGET', k_task(id), 'status', 'queue', 'node', 'pid', 'reclaimed_node', 'worker')
local status = task[1]
if not status then
  return 'not_found'
elseif task[2] and task[2] ~= queue then
  return 'other_queue'
elseif is_document then
  local holder, before = string.match(task[6] or '', '^(.*) (%S+)$')
  if status ~= 'started' then
    return 'status ' .. status
  elseif holder ~= listener then
    return 'lost'
  end
  redis.call('SREM', k_started, listener .. ' ' .. before .. ' ' .. id)
  redis.call('SADD', k_started, listener .. ' ' .. pid .. ' ' .. id)
  redis.call('HSET', k_task(id), 'worker', listener .. ' ' .. pid, 'updated', now)
  return 'done'
end
if status ~= 'reserved' and status ~= 'started' then
  return 'status ' .. status
elseif task[3] ~= listener or (task[5] and task[5] ~= listener) then
  return 'lost'
end
if status == 'started' and task[4] then
  redis.call('SREM', k_started, listener .. ' ' .. task[4] .. ' ' .. id)
end
redis.call('SADD', k_started, listener .. ' ' .. pid .. ' ' .. id)
redis.call('HSET', k_task(id), 'status', 'started', 'pid', pid, 'updated', now)
return 'done'
