-- adopt: a task of a lost listener is held by another one from now on, so that it is found again should that one be lost too.
-- args: id, listener that lost it, its entry among the started (empty: none), status, updated and reclaimed_node as they were seen, listener that takes it, pid, ticket of this call
-- reply: `task`, id, fields and values; or gone (the taker was declared lost), changed (somebody was faster)
local id, listener, entry, taker = ARGV[3], ARGV[4], ARGV[5], ARGV[9]
if not is_welcome(taker) then
  return { 'gone' }
end
local task = redis.call('HMGET', k_task(id), 'status', 'queue', 'updated', 'reclaimed_node', 'ticket')
if task[5] == ARGV[11] then
  return told(id)
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
hold(id, taker, ARGV[10], ARGV[11])
return told(id)
