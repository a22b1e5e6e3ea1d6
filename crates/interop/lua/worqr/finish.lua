-- finish: ends a process, frees the lock of its task, and publishes that it is done.
-- flags: allow-oom
-- keys: the process, the lock of its task, the processes in progress, the worker's processes, the bridged processes
-- uses: released or document
-- args: prefix, worker, process, expected task, digest of the task, message to publish
-- reply: `finished`; `gone`: it is not in progress, because it has ended or was taken back; nothing is published
local worker, process, task, digest, message = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local queue = queue_of(worker, process)
if not queue or redis.call('LINDEX', process_key(process), 0) ~= task then
  return 'gone'
end
redis.call('DEL', lock_key(digest))
redis.call('DEL', process_key(process))
redis.call('SREM', in_progress_key(worker, queue), process)
redis.call('ZREM', own('processes', worker), process)
redis.call('HDEL', own('bridged', queue), process)
redis.call('PUBLISH', channel(queue, 'done'), message)
return 'finished'
