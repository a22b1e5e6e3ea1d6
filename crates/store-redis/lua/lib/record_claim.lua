-- Writing down a claim: its token, what it holds, and whose lease it is under.

-- Puts a claim under its owner's lease; a boot's latest claim is remembered there.
local function lease_to(request, owner, token, suspect)
  local ends = redis.call('ZSCORE', k_leases, owner)
  local until_ms = math.max(ends and tonumber(ends) or now, now + request.lease)
  redis.call('ZADD', k_leases, until_ms, owner)
  local record = redis.call('HGET', k_owners, owner)
  local suspect_part = string.match(record or '', '^%d+\t%d*\t[^\t]*\t(.*)$') or '\t'
  if suspect then
    suspect_part = token .. '\t' .. suspect
  end
  local last = request.owner == '' and '\t' or whole(request.seq) .. '\t' .. token
  redis.call('HSET', k_owners, owner, whole(request.lease) .. '\t' .. last .. '\t' .. suspect_part)
  return until_ms
end

-- Writes down a claim of these ids under its owner's lease: the ids in one text, and when the lease ends.
local function record(request, owner, token, ids, holds, suspect)
  redis.call('HSET', k_running, unpack(holds))
  local seq = whole(request.owner == '' and 0 or request.seq)
  redis.call('HSET', k_open, token, #ids .. '\t' .. seq .. '\t' .. owner)
  local text = table.concat(ids, '\n') .. '\n'
  redis.call('HSET', k_claims, token, seq .. '\t' .. #ids .. '\t' .. owner .. '\n' .. text)
  redis.call('ZADD', k_tokens, '+inf', token)
  if request.owner ~= '' then
    redis.call('ZADD', k_holds, 0, owner .. '\t' .. token)
  end
  return text, lease_to(request, owner, token, suspect)
end

-- What follows the length of the payload in a hold of this claim.
local function tail_of(request)
  if request.worker ~= '' then
    return '\t' .. (request.mode == 'd' and 'd' or '') .. '\t' .. request.worker
  end
  return request.mode == 'd' and '\td' or ''
end

local function next_token(request)
  local number = math.max(now_us, f[LAST_TOKEN] + 1)
  f[LAST_TOKEN] = number
  is_changed = true
  return whole(number) .. '-' .. request.nonce
end
