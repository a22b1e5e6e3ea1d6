-- keep_alive: sets a worker's timer again, if it has not run out.
-- flags: allow-oom
-- keys: the worker's timer
-- uses: released or document, life
-- args: prefix, worker, seconds of the timer
-- reply: 1; 0: the worker failed to stay alive and must restart
local worker = ARGV[2]
if is_permanent(worker) then
  return 1
end
if not has_timer(worker) then
  return 0
end
redis.call('SET', timer_key(worker), 'RUN', 'EX', ARGV[3], 'XX')
return 1
