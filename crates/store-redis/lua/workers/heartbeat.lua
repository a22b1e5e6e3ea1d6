-- heartbeat: records that a worker is alive and returns its queued command.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; its running jobs as QUEUE TAB ID TAB QUEUE TAB ID …
-- reply: continue, pause, stop or reregister
local boot, running = ARGV[1], ARGV[2]
begin_write()
local worker = known_worker(boot)
if not worker or now - worker.seen >= SILENCE_MAX then
  return 'reregister'
end
redis.call('ZADD', k_seen, digits(now), boot)
if worker.running ~= running then
  worker.running = running
  write_worker(boot, worker)
end
return worker.command
