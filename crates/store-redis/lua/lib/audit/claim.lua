-- Checks of claims that may be damaged.
local LEASE_DEFAULT, LEASE_MAX = 30000, 86400000

-- Decodes the record of a claim. Returns nil if it is missing or unreadable.
local function claim_record(token)
  local text = redis.call('HGET', k_claims, token)
  local seq, size, owner = string.match(text or '', '^(%d+)\t(%d+)\t([^\n]*)\n')
  if seq and is_owner(owner) and string.sub(text, -1) == '\n' then
    return { seq = tonumber(seq), size = tonumber(size), owner = owner, text = text }
  end
end

-- The owner of a claim is a boot, or the claim itself.
local function is_owner_of(owner, token)
  return is_owner(owner) and (string.sub(owner, 1, 2) == BOOT_OWNER or owner == TOKEN_OWNER .. token)
end

-- Decodes an open claim. An unreadable one is rewritten from its record, or closed if that is unreadable too.
local function valid_open_claim(token)
  local text = redis.call('HGET', k_open, token)
  if not text then
    return nil
  end
  local remaining, seq, owner = string.match(text, '^(%d+)\t(%d+)\t(.*)$')
  if is_token(token) and is_owner_of(owner, token) and is_number(remaining) and is_number(seq) then
    return { remaining = tonumber(remaining), seq = tonumber(seq), owner = owner }
  end
  report('claim_unreadable', nil, token)
  local record = is_token(token) and claim_record(token)
  if not record or not is_owner_of(record.owner, token) then
    redis.call('HDEL', k_open, token)
    return nil
  end
  local open = { remaining = #leased_ids(token), seq = record.seq, owner = record.owner }
  redis.call('HSET', k_open, token, open.remaining .. '\t' .. digits(open.seq) .. '\t' .. open.owner)
  return open
end

-- Records that a job left a claim unfinished, so that its former worker does not get `completed`.
local function record_lost(id, token)
  redis.call('HSET', k_left, token, (redis.call('HGET', k_left, token) or '') .. 'lease_lost ' .. id .. '\n')
end

-- Whether the record of an owner is valid, and the seq in it.
local function is_valid_owner(text)
  local parts = {}
  for part in string.gmatch((text or '') .. '\t', '([^\t]*)\t') do
    parts[#parts + 1] = part
  end
  local length, seq, token = parts[1], parts[2] or '', parts[3] or ''
  local suspect_token, suspect = parts[4] or '', parts[5] or ''
  local has_last = is_number(seq) and is_token(token) or seq == '' and token == ''
  local has_suspect = is_token(suspect_token) and is_name(suspect) or suspect_token == '' and suspect == ''
  return text and #parts <= 5 and is_number(length) and has_last and has_suspect, tonumber(seq)
end
