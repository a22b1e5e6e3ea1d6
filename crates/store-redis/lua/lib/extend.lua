-- Extends a lease, never shortens it. Returns nil if the lease is lost or being reaped.
local function extend(owner, length)
  local ends = redis.call('ZSCORE', k_leases, owner)
  ends = ends and tonumber(ends)
  if not ends or ends == 0 then
    return nil
  end
  local until_ms = math.max(ends, now + length)
  redis.call('ZADD', k_leases, until_ms, owner)
  local record = redis.call('HGET', k_owners, owner)
  local rest = record and string.match(record, '^%d+(.*)$') or '\t\t\t\t'
  redis.call('HSET', k_owners, owner, digits(length) .. rest)
  is_changed = true
  return until_ms
end
