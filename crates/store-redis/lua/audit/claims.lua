-- audit/claims: checks that the records, tokens and owners of claims agree, and how jobs left them.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting limit lease audit/report audit/validate audit/claim
-- flags: allow-oom
-- args: `tokens`, `claims`, `left` or `holds`; cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local stage, cursor = ARGV[1], ARGV[2]

local function is_open(token)
  return redis.call('HEXISTS', k_open, token) == 1
end

local function forget_claim(token)
  redis.call('ZREM', k_tokens, token)
  redis.call('HDEL', k_claims, token)
  redis.call('HDEL', k_left, token)
  report('claim_unreadable', nil, token)
end

local check = {}

-- A token that is not open has an end time, after which its claim is pruned.
function check.tokens(token, score)
  if not is_token(token) or redis.call('HEXISTS', k_claims, token) == 0 then
    if not is_open(token) then
      forget_claim(token)
    end
  elseif not is_open(token) and not is_time(score) then
    redis.call('ZADD', k_tokens, now, token)
    report('token_wrong', nil, token)
  end
end

function check.claims(token, text)
  local record = is_token(token) and claim_record(token)
  if not record then
    if not is_open(token) then
      forget_claim(token)
    end
    return
  end
  local _, lines = string.gsub(text, '\n', '')
  if record.size ~= lines - 1 then
    local head = digits(record.seq) .. '\t' .. (lines - 1) .. '\t' .. record.owner
    redis.call('HSET', k_claims, token, head .. string.match(text, '\n.*$'))
    report('claim_unrecorded', nil, token)
  end
  if not redis.call('ZSCORE', k_tokens, token) then
    redis.call('ZADD', k_tokens, is_open(token) and '+inf' or now, token)
    report('token_wrong', nil, token)
  end
end

-- Only jobs of the claim may have left it, once, and not while it leases them.
function check.left(token, text)
  local claim = redis.call('HGET', k_claims, token)
  local lines, seen = {}, {}
  for how, id in string.gmatch(text, '([^ \n]+) ([^\n]*)\n') do
    local is_how = false
    for i = 1, #LEAVE_STATUSES do
      is_how = is_how or LEAVE_STATUSES[i] == how
    end
    local is_claimed = claim and string.find(claim, '\n' .. id .. '\n', 1, true)
    if is_how and is_claimed and not seen[id] and not lease_of(id, token) then
      lines[#lines + 1] = how .. ' ' .. id .. '\n'
      seen[id] = true
    end
  end
  scanned = scanned + math.max(0, #lines - 1)
  local valid = table.concat(lines)
  if valid == '' then
    redis.call('HDEL', k_left, token)
  elseif valid ~= text then
    redis.call('HSET', k_left, token, valid)
  end
  if valid == '' or valid ~= text then
    report('claim_history_wrong', nil, token)
  end
end

function check.holds(member)
  local owner, token = string.match(member, '^([^\t]*)\t(.*)$')
  local open = token and redis.call('HGET', k_open, token)
  if not open or string.match(open, '^%d+\t%d+\t(.*)$') ~= owner then
    redis.call('ZREM', k_holds, member)
    report('claim_unowned', nil, token or '')
  end
end

local SCANS = {
  tokens = { k_tokens, 'zset', 200 },
  claims = { k_claims, 'anchored', 50 },
  left = { k_left, 'hash', 4 },
  holds = { k_holds, 'zset', 200 },
}
local scan = SCANS[stage]
local next_at = scan_page(scan[1], scan[2], cursor, scan[3], check[stage])
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
