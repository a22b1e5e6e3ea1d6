-- create: creates a queue. Idempotent.
-- keys: state jobs opts running open claims
-- uses: stats
-- flags:
-- args: none
-- reply: 1 if it was created, 0 if it existed
if exists then
  return 0
end
-- A long value keeps a small hash a hash table, which is twice as fast to write to.
local anchor = string.rep('.', ANCHOR_BYTES)
for _, key in ipairs({ k_jobs, k_opts, k_running, k_open, k_claims }) do
  redis.call('HSET', key, '', anchor)
end
-- A queue may be watched before it exists.
stats[WATCHED_UNTIL] = tonumber(redis.call('HGET', k_state, WATCHED_FIELD) or 0)
-- Or have been deleted.
stats[LAST_TOKEN] = tonumber(redis.call('HGET', k_state, TOKEN_FIELD) or 0)
redis.call('HDEL', k_state, WATCHED_FIELD, TOKEN_FIELD)
-- The clock mark stays at 0: nothing has happened in this queue yet.
write_stats()
redis.call('HSET', k_state, HISTORY_FIELD, '0 0 0 0 0 0 0')
return 1
