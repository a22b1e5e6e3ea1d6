-- listen: takes the next task; whose it is and how it stands change in the same step.
-- args: listener, how long it is alive without a beat (ms), pid, ticket of this call, how many ids without a task are passed over at most
-- reply: `task`, id, fields and values; or empty, gone (the listener was declared lost), again (only ids without a task were found)
local listener, alive, pid, ticket = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not is_welcome(listener) then
  return { 'gone' }
end
redis.call('ZADD', k_beats, 'GT', now_ms + alive, listener)
-- The answer to this very call was lost: it is given again.
local last = redis.call('LINDEX', k_reserved(listener), 0)
if last and redis.call('HGET', k_task(last), 'ticket') == ticket then
  return told(last)
end
for _ = 1, ARGV[7] do
  local id = redis.call('LINDEX', k_pending, is_document and 0 or -1)
  if not id then
    return { 'empty' }
  end
  local status = redis.call('HGET', k_task(id), 'status')
  redis.call(is_document and 'LPOP' or 'RPOP', k_pending)
  -- Nothing can be run without a record, and nothing is run that has ended.
  if status and not is_finished(status) then
    hold(id, listener, pid, ticket)
    return told(id)
  end
end
return { 'again' }
