-- create: makes a queue that does not exist yet. Repeating it changes nothing.
-- keys: state jobs opts running open claims
-- uses: stats
-- flags:
-- args: none
-- reply: 1 when it was made, 0 when it was there
if exists then
  return 0
end
-- One value above 64 bytes keeps a small hash a hash table, which is twice as fast to write to.
local anchor = string.rep('.', 65)
for _, key in ipairs({ k_jobs, k_opts, k_running, k_open, k_claims }) do
  redis.call('HSET', key, '', anchor)
end
-- Somebody may watch a queue before it exists.
f[WATCHED_UNTIL] = tonumber(redis.call('HGET', k_state, 'watched') or 0)
redis.call('HDEL', k_state, 'watched')
-- The mark stays where it was: nothing has happened in this queue yet.
write_figures()
return 1
