-- listen: pops the next task and assigns it to a listener.
-- args: listener, lifetime without a heartbeat (ms), pid, ticket of this call, maximum number of ids without a task to skip
-- reply: `task`, id, fields and values; or empty, gone (the listener was declared lost), again (only ids without a task were found; call again)
local listener, alive, pid, ticket = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not is_registered(listener) then
  return { 'gone' }
end
redis.call('ZADD', k_heartbeats, 'GT', now_ms + alive, listener)
-- A retry of a call whose reply was lost: return the same task.
local last = redis.call('LINDEX', k_reserved(listener), 0)
if last and redis.call('HGET', k_task(last), 'ticket') == ticket then
  return task_reply(last)
end
for _ = 1, ARGV[7] do
  local id = redis.call('LINDEX', k_pending, is_document and 0 or -1)
  if not id then
    return { 'empty' }
  end
  local status = redis.call('HGET', k_task(id), 'status')
  redis.call(is_document and 'LPOP' or 'RPOP', k_pending)
  -- Skip ids without a record and tasks that have ended.
  if status and not is_finished(status) then
    assign(id, listener, pid, ticket)
    return task_reply(id)
  end
end
return { 'again' }
