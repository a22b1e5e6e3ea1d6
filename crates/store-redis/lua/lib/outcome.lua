-- What the verbs that settle holds one by one have in common.

-- A job that was asked to stop has come back: it is cancelled, whatever its holder said.
local function stop(id, o, hold)
  leave_claim(id, hold.token, 'cancelled')
  end_cancelled(id, o, hold.bytes, issued_at(hold.token))
  return 'cancelled'
end

-- Settles items of `width` arguments each from the second argument on (the first says how many); `finally` may do what
-- must be done for all of them together.
local function settle(width, one, finally)
  local words = {}
  for i = 1, tonumber(ARGV[1]) do
    words[i] = exists and one(2 + width * (i - 1)) or 'gone'
  end
  if exists then
    if finally then
      finally()
    end
    close_claims()
    prune_step()
    commit()
  end
  return table.concat(words, ' ')
end
