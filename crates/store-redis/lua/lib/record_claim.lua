-- Records a claim: its token, its jobs, and the lease it is under.

-- Puts a claim under its owner's lease, which records the latest claim of a boot. Returns the lease end.
local function put_under_lease(request, owner, token, suspect)
  local ends = redis.call('ZSCORE', k_leases, owner)
  local until_ms = math.max(ends and tonumber(ends) or now, now + request.lease_ms)
  redis.call('ZADD', k_leases, until_ms, owner)
  need_full(until_ms)
  local record = redis.call('HGET', k_owners, owner)
  local suspect_part = string.match(record or '', '^%d+\t%d*\t[^\t]*\t(.*)$') or '\t'
  if suspect then
    suspect_part = token .. '\t' .. suspect
  end
  local last = request.owner == '' and '\t' or digits(request.seq) .. '\t' .. token
  redis.call('HSET', k_owners, owner, digits(request.lease_ms) .. '\t' .. last .. '\t' .. suspect_part)
  return until_ms
end

-- Records a claim of these ids. Returns the ids, each followed by LF, and the lease end.
local function record_claim(request, owner, token, ids, leases, suspect)
  redis.call('HSET', k_running, unpack(leases))
  local seq = digits(request.owner == '' and 0 or request.seq)
  redis.call('HSET', k_open, token, #ids .. '\t' .. seq .. '\t' .. owner)
  local text = table.concat(ids, '\n') .. '\n'
  redis.call('HSET', k_claims, token, seq .. '\t' .. #ids .. '\t' .. owner .. '\n' .. text)
  redis.call('ZADD', k_tokens, '+inf', token)
  if request.owner ~= '' then
    redis.call('ZADD', k_holds, 0, owner .. '\t' .. token)
  end
  return text, put_under_lease(request, owner, token, suspect)
end

-- The end of each lease of this claim, after the payload length.
local function lease_suffix(request)
  if request.worker ~= '' then
    return '\t' .. (request.mode == DISPATCH and NOT_ACCEPTED or '') .. '\t' .. request.worker
  end
  return request.mode == DISPATCH and '\t' .. NOT_ACCEPTED or ''
end

local function next_token(request)
  local number = math.max(now_us, stats[LAST_TOKEN] + 1)
  stats[LAST_TOKEN] = number
  is_changed = true
  return digits(number) .. '-' .. request.nonce
end
