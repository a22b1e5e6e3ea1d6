-- fail_worker: removes a worker, returns its tasks to the front of their queues, and notifies the other workers.
-- flags: allow-oom
-- keys: the workers, the worker's timer, queues and processes, its queues, the processes in progress
-- uses: released or document, liveness, notify, put_back
-- args: prefix, worker, `expired` (only if it is dead) or `any`, maximum number of processes to put back
-- reply: `failed`, number of tasks returned, 1 if there may be more (call again);
--   `undecided`, number of tasks returned: it is a dead original worker, and another living original serves the same
--   queue. It stays recorded as dead, for the original's cleanup, or for Windlass once the others are gone;
--   `unknown`: there is no such worker; `alive`: it is alive, and the condition was `expired`
local worker, limit = ARGV[2], tonumber(ARGV[4])
if not is_registered(worker) and redis.call('SISMEMBER', own('workers'), worker) == 0
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
local returned, left = put_back_recorded(worker, nil, limit, touched)
local served, undecided = redis.call('SMEMBERS', served_key(worker)), 0
for _, queue in ipairs(served) do
  local more, is_undecided
  more, left, is_undecided = put_back_unrecorded(worker, queue, left)
  returned = returned + more
  touched[queue] = not is_undecided or nil
  if is_undecided then
    undecided = undecided + 1
  elseif left > 0 then
    drop_in_progress(worker, queue)
    redis.call('SREM', served_key(worker), queue)
  end
end
-- While there may be more, the worker stays registered, so that a cleanup finds it if this caller dies.
if undecided > 0 then
  record_dead(worker)
elseif left > 0 then
  redis.call('DEL', own('processes', worker))
  redis.call('SREM', own('workers'), worker)
  forget_worker(worker)
end
for queue in pairs(touched) do
  notify(queue)
end
if left == 0 then
  return { 'failed', returned, 1 }
end
return { undecided > 0 and 'undecided' or 'failed', returned, 0 }
