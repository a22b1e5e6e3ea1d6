-- release: requeues claimed jobs in claim order without counting the attempt.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans sleepers wake hints
-- uses: stats notify opts state waiting plan lease tombstone finish reap outcome byte_order
-- flags: allow-oom
-- args: count; id and token per job
-- reply: statuses (released, cancelled, lease_lost, gone) separated by spaces
local REPEATABLE = { released = true, cancelled = true }
local to_requeue, ranks = {}, {}

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

local function release_one(id, token)
  local lease = lease_of(id, token)
  if not lease then
    return repeated_status(id, token, REPEATABLE)
  end
  local opts = load_reported_opts(id)
  if is_asked_to_stop(id, token) then
    return cancel_stopped(id, opts, lease)
  end
  local number = tonumber(string.match(token, '^%d+'))
  to_requeue[#to_requeue + 1] = { id = id, opts = opts, lease = lease, number = number, rank = rank_in_claim(id, token) }
  leave_claim(id, token, 'released')
  return 'released'
end

return apply_outcomes(2, function(at)
  return release_one(ARGV[at], ARGV[at + 1])
end, function()
  table.sort(to_requeue, function(a, b)
    if a.number ~= b.number then
      return a.number < b.number
    elseif a.rank ~= b.rank then
      return a.rank < b.rank
    end
    return is_before(a.id, b.id)
  end)
  requeue_in_order(to_requeue)
end)
