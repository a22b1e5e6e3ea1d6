-- start: moves the next task of a queue into a process of a living worker that serves the queue.
-- keys: the queue, the process, the processes in progress, the worker's queues and timer, its processes
-- uses: released or document, liveness
-- args: prefix, worker, queue, process
-- reply: `started` and the task; `empty`; `idle`: the worker does not serve the queue; `expired`: it must restart.
--   A retry with the same process returns the same task
local worker, queue, process = ARGV[2], ARGV[3], ARGV[4]
if redis.call('SISMEMBER', served_key(worker), queue) == 0 then
  return { 'idle' }
end
if not is_alive(worker) then
  return { 'expired' }
end
local key = process_key(process)
local task = redis.call('LINDEX', key, 0)
if not task then
  task = redis.call('LMOVE', queue_key(queue), key, 'RIGHT', 'LEFT')
  if not task then
    return { 'empty' }
  end
end
local now = redis.call('TIME')
redis.call('SADD', in_progress_key(worker, queue), process)
redis.call('ZADD', own('processes', worker), 'NX', now[1] .. string.format('%06d', now[2]), process)
return { 'started', task }
