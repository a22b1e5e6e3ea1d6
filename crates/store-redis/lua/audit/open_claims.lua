-- audit/open_claims: checks that every open claim has the recorded number of jobs and a lease. A claim without jobs is finished.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting limit lease audit/report audit/validate audit/claim
-- flags: allow-oom
-- args: cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local COUNT = 3 -- claims of up to 100 jobs each

local function finish(token, open)
  redis.call('HDEL', k_open, token)
  redis.call('ZADD', k_tokens, now, token)
  redis.call('ZREM', k_holds, open.owner .. '\t' .. token)
  if open.owner == TOKEN_OWNER .. token then
    redis.call('ZREM', k_leases, open.owner)
    redis.call('HDEL', k_owners, open.owner)
  end
end

-- A claim without a lease would never be reaped: give it one, so that a live worker can continue.
local function check_lease(token, open)
  local record = redis.call('HGET', k_owners, open.owner)
  local is_valid, seq = is_valid_owner(record)
  local length = is_valid and string.match(record, '^%d+') or digits(LEASE_DEFAULT)
  if not redis.call('ZSCORE', k_leases, open.owner) then
    redis.call('ZADD', k_leases, now + tonumber(length), open.owner)
    report('claim_without_lease', nil, token)
  end
  local is_boot = string.sub(open.owner, 1, 2) == BOOT_OWNER
  if not is_valid or (is_boot and open.seq > (seq or -1)) then
    -- A repeated call returns the latest claim.
    local rest = is_valid and string.match(record, '^%d+\t%d*\t[^\t]*(\t.*)$') or '\t\t'
    local last = is_boot and digits(open.seq) .. '\t' .. token or '\t'
    redis.call('HSET', k_owners, open.owner, length .. '\t' .. last .. rest)
    report('owner_wrong', nil, open.owner)
  end
end

local function check_record(token, open)
  local record = claim_record(token)
  if record and (record.owner ~= open.owner or record.seq ~= open.seq) then
    local head = digits(open.seq) .. '\t' .. digits(record.size) .. '\t' .. open.owner
    redis.call('HSET', k_claims, token, head .. string.match(record.text, '\n.*$'))
    report('claim_unrecorded', nil, token)
  end
  if redis.call('ZSCORE', k_tokens, token) ~= 'inf' then
    redis.call('ZADD', k_tokens, '+inf', token)
    report('token_wrong', nil, token)
  end
  local member = open.owner .. '\t' .. token
  if string.sub(open.owner, 1, 2) == BOOT_OWNER and not redis.call('ZSCORE', k_holds, member) then
    redis.call('ZADD', k_holds, 0, member)
    report('claim_unowned', nil, token)
  end
  local number = tonumber(string.match(token, '^%d+'))
  if number > stats[LAST_TOKEN] then
    stats[LAST_TOKEN] = number
    report('stats_wrong', nil, 'last token')
  end
end

-- Records as lost the jobs that the claim lists but that left it without a status and have not ended.
local function record_all_lost(token)
  local left = '\n' .. (redis.call('HGET', k_left, token) or '')
  local ids = claimed_ids(token)
  for i = 1, #ids do
    local state = state_of(ids[i])
    local is_live = state == 'ready' or state == 'scheduled' or (state == 'running' and not lease_of(ids[i], token))
    if is_live and not string.find(left, ' ' .. ids[i] .. '\n', 1, true) then
      record_lost(ids[i], token)
    end
  end
end

local function check(token)
  local open = valid_open_claim(token)
  if not open then
    return
  end
  local ids, size = leased_ids(token)
  scanned = scanned + size
  if #ids ~= open.remaining then
    report('claim_miscounted', nil, token .. ': remaining was ' .. digits(open.remaining) .. ', counted ' .. #ids)
    if #ids < open.remaining then
      record_all_lost(token)
    end
    redis.call('HSET', k_open, token, #ids .. '\t' .. digits(open.seq) .. '\t' .. open.owner)
  end
  if #ids == 0 then
    if open.remaining == 0 then
      report('claim_miscounted', nil, token .. ': was open without jobs')
    end
    finish(token, open)
  else
    check_record(token, open)
    check_lease(token, open)
  end
end

local next_at = scan_page(k_open, 'anchored', ARGV[1], COUNT, check)
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
