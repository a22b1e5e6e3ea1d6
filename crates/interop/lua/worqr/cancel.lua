-- cancel: takes every copy of a task out of a queue, frees its lock, and tells the workers that may be at it.
-- flags: allow-oom
-- keys: the queue, the lock of the task
-- uses: released or document
-- args: prefix, queue, digest of the task, task
-- reply: how many copies were taken out. Where there were none the lock stays: a process may be at the task, and frees it
local queue, digest, task = ARGV[2], ARGV[3], ARGV[4]
local removed = redis.call('LREM', queue_key(queue), 0, task)
if removed > 0 then
  redis.call('DEL', lock_key(digest))
end
redis.call('PUBLISH', channel(queue, 'cancel'), task)
return removed
