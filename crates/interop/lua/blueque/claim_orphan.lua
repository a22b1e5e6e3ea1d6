-- claim_orphan: moves a task of a lost listener to another listener.
-- args: id, lost listener, entry in the set of started tasks (empty: none), expected status, updated and reclaimed_node, claiming listener, pid, ticket of this call
-- reply: `task`, id, fields and values; or gone (the claiming listener was declared lost), changed (the task is not as expected)
local id, listener, entry, claimer = ARGV[3], ARGV[4], ARGV[5], ARGV[9]
if not is_registered(claimer) then
  return { 'gone' }
end
local task = redis.call('HMGET', k_task(id), 'status', 'queue', 'updated', 'reclaimed_node', 'ticket')
if task[5] == ARGV[11] then
  return task_reply(id)
elseif not task[1] or is_finished(task[1]) or (task[2] and task[2] ~= queue) then
  return { 'changed' }
elseif task[1] ~= ARGV[6] or (task[3] or '') ~= ARGV[7] or (task[4] or '') ~= ARGV[8] then
  return { 'changed' }
elseif is_alive(listener) or redis.call('LREM', k_reserved(listener), 0, id) == 0 then
  return { 'changed' }
end
if entry ~= '' then
  redis.call('SREM', k_started, entry)
end
assign(id, claimer, ARGV[10], ARGV[11])
return task_reply(id)
