-- promote: makes scheduled jobs ready now, at the back.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish byte_order scan change
-- flags: allow-oom
-- args: `ids`, how many, ids; or `key`, unique key; or `scan` and a scan (lib/scan)
-- reply: where to go on (empty: nowhere); then id and word of each: done, will_stop, not_found, `conflict ID`, or the state that forbids it
local function promote(id, state, o)
  if not state then
    return 'not_found'
  elseif state ~= 'scheduled' then
    return state
  end
  promote_one(id, o, now)
  return 'done'
end

return change_target(promote)
