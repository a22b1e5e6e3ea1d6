-- command: queues a command for a worker's next heartbeat.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; continue, pause, stop or reregister
-- reply: queued, or unknown if the worker is not registered
local boot = ARGV[1]
begin_write()
local worker = known_worker(boot)
if not worker then
  return 'unknown'
end
worker.command = ARGV[2]
write_worker(boot, worker)
return 'queued'
