-- snooze: puts jobs off, attempt not counted.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish outcome
-- flags: allow-oom
-- args: how many; id, token, due (MS or +MS from now) of each
-- reply: the words (snoozed, cancelled, lease_lost, gone) in one text, separated by spaces
local SAME = { snoozed = true, cancelled = true }

local function snooze_one(id, token, due)
  local hold = held(id, token)
  if not hold then
    return told_before(id, token, SAME)
  end
  local o = load_opts(id)
  if is_asked_to_stop(id, token) then
    return stop(id, o, hold)
  end
  leave_claim(id, token, 'snoozed')
  place_scheduled(id, o, resolve(due))
  save_opts(id, o)
  return 'snoozed'
end

return settle(3, function(at)
  return snooze_one(ARGV[at], ARGV[at + 1], ARGV[at + 2])
end)
