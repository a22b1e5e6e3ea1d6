-- register: registers a worker that has just started.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; PID TAB NAME TAB HOST TAB VERSION; its queues separated by tabs
-- reply: registered
local boot = ARGV[1]
begin_write()
redis.call('ZADD', k_seen, digits(now), boot)
write_worker(boot, { command = 'continue', head = digits(now) .. '\t' .. ARGV[2], queues = ARGV[3], running = '' })
return 'registered'
