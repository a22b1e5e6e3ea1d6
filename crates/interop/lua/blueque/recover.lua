-- recover: returns a task of a lost listener to the front of the queue, or fails it if it was started.
-- flags: allow-oom
-- args: id, listener, entry in the set of started tasks (empty: none, `*`: it is in no list), expected status, updated and reclaimed_node, `retry` or `fail` for a started task, error
-- reply: requeued, failed, stale (only an old entry was left and was removed), other_queue, or changed (the task is not as expected)
local id, listener, entry, error_text = ARGV[3], ARGV[4], ARGV[5], ARGV[10]

-- If an original was killed while taking a task, the task is in its list but still pending.
local function is_held(task, listener, reserved)
  if task[1] == 'pending' then
    return reserved > 0
  end
  local holder = is_document and string.match(task[6] or '', '^(.*) %S+$') or task[5]
  return holder == listener
end

local task = redis.call('HMGET', k_task(id), 'status', 'queue', 'updated', 'reclaimed_node', 'node', 'worker')
local status = task[1] or ''
if task[2] and task[2] ~= queue then
  return 'other_queue'
elseif status ~= ARGV[6] or (task[3] or '') ~= ARGV[7] or (task[4] or '') ~= ARGV[8] then
  return 'changed'
elseif is_alive(listener) then
  return 'changed'
end
local reserved = redis.call('LREM', k_reserved(listener), 0, id)
local started = entry ~= '' and redis.call('SREM', k_started, entry) or 0
if reserved + started == 0 and entry ~= '*' then
  return 'changed'
elseif status == '' or is_finished(status) or not is_held(task, listener, reserved) then
  return 'stale'
elseif status == 'started' and ARGV[9] == 'fail' then
  finish(id, false, 'error', error_text)
  return 'failed'
end
redis.call('HSET', k_task(id), 'status', 'pending', 'updated', now)
redis.call('HDEL', k_task(id), 'node', 'pid', 'reclaimed_node', 'worker', 'ticket')
put_first(id)
return 'requeued'
