-- cancel: removes every copy of a task from a queue, frees its lock, and notifies the workers that may be running it.
-- flags: allow-oom
-- keys: the queue, the lock of the task
-- uses: released or document
-- args: prefix, queue, digest of the task, task
-- reply: number of copies removed. If there were none the lock stays, because a process may be running the task
local queue, digest, task = ARGV[2], ARGV[3], ARGV[4]
local removed = redis.call('LREM', queue_key(queue), 0, task)
if removed > 0 then
  redis.call('DEL', lock_key(digest))
end
redis.call('PUBLISH', channel(queue, 'cancel'), task)
return removed
