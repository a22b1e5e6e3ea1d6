-- heartbeat: shows that a worker lives; it is command how to go on.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; the jobs it runs as QUEUE TAB ID TAB QUEUE TAB ID …
-- reply: continue, pause, stop or reregister
local boot, running = ARGV[1], ARGV[2]
begin()
local worker = known(boot)
if not worker or now - worker.seen >= SILENCE_MAX then
  return 'reregister'
end
redis.call('ZADD', k_seen, whole(now), boot)
if worker.running ~= running then
  worker.running = running
  write(boot, worker)
end
return worker.command
