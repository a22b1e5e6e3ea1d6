-- audit/leases: checks that every lease has an owner record and that every owner has a lease with an end.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting limit lease audit/report audit/validate audit/claim
-- flags: allow-oom
-- args: `leases` or `owners`; cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local COUNT = 200

local function drop(owner)
  redis.call('ZREM', k_leases, owner)
  redis.call('HDEL', k_owners, owner)
end

local check = {}

function check.leases(owner, score)
  local token = string.match(owner, '^' .. TOKEN_OWNER .. '(.*)$')
  if not is_owner(owner) or (token and redis.call('HEXISTS', k_open, token) == 0) then
    drop(owner)
    report('lease_without_claim', nil, owner)
    return
  end
  local record = redis.call('HGET', k_owners, owner)
  local length = tonumber(string.match(record or '', '^%d+')) or LEASE_DEFAULT
  if not is_valid_owner(record) then
    redis.call('HSET', k_owners, owner, digits(math.min(length, LEASE_MAX)) .. '\t\t\t\t')
    report('owner_wrong', nil, owner)
  end
  if not is_time(score) or tonumber(score) > now + LEASE_MAX then
    redis.call('ZADD', k_leases, now + math.min(length, LEASE_MAX), owner)
    report('lease_endless', nil, owner)
  end
end

function check.owners(owner)
  if not redis.call('ZSCORE', k_leases, owner) then
    redis.call('HDEL', k_owners, owner)
    report('owner_without_lease', nil, owner)
  end
end

local next_at
if ARGV[1] == 'leases' then
  next_at = scan_page(k_leases, 'zset', ARGV[2], COUNT, check.leases)
else
  next_at = scan_page(k_owners, 'hash', ARGV[2], COUNT, check.owners)
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
