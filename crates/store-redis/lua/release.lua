-- release: gives jobs back to the front (or back) in claim order, attempt not counted.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish reap outcome byte_order
-- flags: allow-oom
-- args: how many; id, token of each
-- reply: the words (released, cancelled, lease_lost, gone) in one text, separated by spaces
local SAME = { released = true, cancelled = true }
local back, places = {}, {}

-- Where a held job stands in its claim.
local function place_in_claim(id, token)
  if not places[token] then
    places[token] = {}
    for place, claimed in ipairs((claimed_ids(token))) do
      places[token][claimed] = place
    end
  end
  return places[token][id] or 0
end

local function release_one(id, token)
  local hold = held(id, token)
  if not hold then
    return told_before(id, token, SAME)
  end
  local o = load_opts(id)
  if is_asked_to_stop(id, token) then
    return stop(id, o, hold)
  end
  local number = tonumber(string.match(token, '^%d+'))
  back[#back + 1] = { id = id, o = o, hold = hold, number = number, place = place_in_claim(id, token) }
  leave_claim(id, token, 'released')
  return 'released'
end

return settle(2, function(at)
  return release_one(ARGV[at], ARGV[at + 1])
end, function()
  table.sort(back, function(a, b)
    if a.number ~= b.number then
      return a.number < b.number
    elseif a.place ~= b.place then
      return a.place < b.place
    end
    return is_before(a.id, b.id)
  end)
  requeue_in_order(back)
end)
