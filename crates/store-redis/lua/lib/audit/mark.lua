-- Marks of doubt: a zero in front of a number that scripts write without. Whatever moves the job or the stale entry
-- writes that number anew, so a mark that still stands says that nothing moved.
local function is_marked(text)
  return string.find(text or '', '^0%d')
end

-- The same number without its mark; nothing where it is zero.
local function unmarked(text)
  local number = tonumber(text or 0)
  return number > 0 and whole(number) or nil
end

local function is_latest(nonce)
  return redis.call('HGET', k_state, 'audit') == nonce
end
