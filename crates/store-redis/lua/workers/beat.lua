-- beat: shows that a worker lives; it is told how to go on.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; the jobs it runs as QUEUE TAB ID TAB QUEUE TAB ID …
-- reply: continue, quiet, stop or lost
local boot, running = ARGV[1], ARGV[2]
begin()
local worker = known(boot)
if not worker or now - worker.seen >= SILENCE_MAX then
  return 'lost'
end
redis.call('ZADD', k_seen, whole(now), boot)
if worker.running ~= running then
  worker.running = running
  write(boot, worker)
end
return worker.told
