-- start_worker: registers a worker, with a timer or, in the released layout, as permanent.
-- keys: the workers, the worker's timer, the Windlass workers
-- uses: released or document
-- args: prefix, worker, timeout in seconds (0: permanent)
-- reply: `started`; `taken`: the key of its timer is in use
local worker = ARGV[2]
local kind = redis.call('TYPE', timer_key(worker)).ok
if kind ~= 'none' and kind ~= 'string' then
  return 'taken'
end
register_worker(worker, tonumber(ARGV[3]))
redis.call('SADD', own('workers'), worker)
return 'started'
