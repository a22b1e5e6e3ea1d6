-- register: makes a worker known, as one that has just begun.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; PID TAB NAME TAB HOST TAB VERSION; its queues with tabs between
-- reply: registered
local boot = ARGV[1]
begin()
redis.call('ZADD', k_seen, whole(now), boot)
write(boot, { command = 'continue', head = whole(now) .. '\t' .. ARGV[2], queues = ARGV[3], running = '' })
return 'registered'
