-- start_worker: notes a worker as living, with a timer or, in the released layout, for good.
-- keys: the workers, the worker's timer, the workers of ours
-- uses: released or document
-- args: prefix, worker, seconds of the timer (0: for good)
-- reply: `started`; `taken`: something else has the name of its timer
local worker = ARGV[2]
local kind = redis.call('TYPE', timer_key(worker)).ok
if kind ~= 'none' and kind ~= 'string' then
  return 'taken'
end
note_worker(worker, tonumber(ARGV[3]))
redis.call('SADD', own('workers'), worker)
return 'started'
