-- tell: leaves word for a worker's next beat.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; continue, quiet, stop or lost
-- reply: told, or unknown when nobody knows the worker
local boot = ARGV[1]
begin()
local worker = known(boot)
if not worker then
  return 'unknown'
end
worker.told = ARGV[2]
write(boot, worker)
return 'told'
