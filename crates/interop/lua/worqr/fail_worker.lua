-- fail_worker: ends a worker. Its own tasks, and no others, go back to the front of their queues, and the others are told.
-- flags: allow-oom
-- keys: the workers, the worker's timer, queues and processes, its queues, the processes in progress
-- uses: released or document, life, notify, put_back
-- args: prefix, worker, `expired` (only when it does not live) or `any`, how many processes to put back at most
-- reply: `failed`, how many tasks went back, 1 when there may be more (ask again);
--   `undecided`, how many tasks went back: it is a dead worker of the original, and others of its kind have processes at
--   the same queue. It stays noted as dead there, for them to clean up, or for us once they are gone;
--   `unknown`: there is no such worker; `alive`: it lives, and only an expired one was to be failed
local worker, limit = ARGV[2], tonumber(ARGV[4])
if not is_noted(worker) and redis.call('SISMEMBER', own('workers'), worker) == 0
    and redis.call('EXISTS', served_key(worker), own('processes', worker)) == 0 then
  return { 'unknown' }
end
if ARGV[3] == 'expired' and not is_expired(worker) then
  return { 'alive' }
end
local touched = {}
if has_timer(worker) then
  redis.call('DEL', timer_key(worker))
end
local put, left = put_back_noted(worker, nil, limit, touched)
local served, undecided = redis.call('SMEMBERS', served_key(worker)), 0
for _, queue in ipairs(served) do
  local more, is_undecided
  more, left, is_undecided = put_back_left(worker, queue, left)
  put = put + more
  touched[queue] = not is_undecided or nil
  if is_undecided then
    undecided = undecided + 1
  elseif left > 0 then
    drop_doing(worker, queue)
    redis.call('SREM', served_key(worker), queue)
  end
end
-- As long as there may be more it stays known, so that whoever cleans up finds it should this caller end.
if undecided > 0 then
  note_dead(worker)
elseif left > 0 then
  redis.call('DEL', own('processes', worker))
  redis.call('SREM', own('workers'), worker)
  forget_worker(worker)
end
for queue in pairs(touched) do
  notify(queue)
end
if left == 0 then
  return { 'failed', put, 1 }
end
return { undecided > 0 and 'undecided' or 'failed', put, 0 }
