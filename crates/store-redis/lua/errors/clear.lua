-- errors/clear: deletes a group of errors.
-- keys: state leases owners error_groups error_seen sleepers wake hints
-- uses: stats notify
-- flags: allow-oom
-- args: name
-- reply: 1, or 0 if it does not exist
if not exists or redis.call('HDEL', k_error_groups, ARGV[1]) == 0 then
  return 0
end
redis.call('ZREM', k_error_seen, ARGV[1])
is_changed = true
commit()
return 1
