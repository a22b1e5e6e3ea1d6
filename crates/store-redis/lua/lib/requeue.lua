-- Collects claimed jobs that return to the queue, to requeue them in claim order.
local returned, ranks = {}, {}

-- The position of a job in its claim.
local function rank_in_claim(id, token)
  if not ranks[token] then
    ranks[token] = {}
    for rank, claimed in ipairs((claimed_ids(token))) do
      ranks[token][claimed] = rank
    end
  end
  return ranks[token][id] or 0
end

local function return_job(id, opts, lease)
  local number = tonumber(string.match(lease.token, '^%d+'))
  returned[#returned + 1] = { id = id, opts = opts, lease = lease, number = number, rank = rank_in_claim(id, lease.token) }
end

local function requeue_returned()
  table.sort(returned, function(a, b)
    if a.number ~= b.number then
      return a.number < b.number
    elseif a.rank ~= b.rank then
      return a.rank < b.rank
    end
    return is_before(a.id, b.id)
  end)
  requeue_in_order(returned)
end
