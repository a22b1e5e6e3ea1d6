-- stop: returns the task of a process to the front of its queue and notifies the workers.
-- flags: allow-oom
-- keys: the process, its queue, the processes in progress, the worker's processes
-- uses: released or document, notify, put_back
-- args: prefix, worker, process
-- reply: `stopped`; `gone`: it is not in progress, because it has ended or was taken back
local worker, process = ARGV[2], ARGV[3]
local queue = queue_of(worker, process)
if not queue or redis.call('LLEN', process_key(process)) == 0 then
  return 'gone'
end
put_back(worker, queue, process)
notify(queue)
return 'stopped'
