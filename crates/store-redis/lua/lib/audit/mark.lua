-- Marks of unverified jobs and stale entries: a leading zero, which scripts never write. Any move rewrites the number
-- without it, so a mark that is still there proves that nothing moved.
local function is_marked(text)
  return string.find(text or '', '^0%d')
end

-- The number without its mark, or nil if it is zero.
local function unmarked(text)
  local number = tonumber(text or 0)
  return number > 0 and digits(number) or nil
end

local function is_latest_audit(nonce)
  return redis.call('HGET', k_state, AUDIT_FIELD) == nonce
end
