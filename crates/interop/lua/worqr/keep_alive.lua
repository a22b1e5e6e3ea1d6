-- keep_alive: resets a worker's timer, unless it has run out.
-- flags: allow-oom
-- keys: the worker's timer
-- uses: released or document, liveness
-- args: prefix, worker, timeout in seconds
-- reply: 1; 0: the timer ran out and the worker must restart
local worker = ARGV[2]
if is_permanent(worker) then
  return 1
end
if not has_timer(worker) then
  return 0
end
redis.call('SET', timer_key(worker), 'RUN', 'EX', ARGV[3], 'XX')
return 1
