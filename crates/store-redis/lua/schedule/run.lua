-- schedule/run: enqueues jobs of a schedule now, besides its instants.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting schedules plans firing refilling lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting plan limit lease tombstone finish cancel schedule/definition schedule/enqueue
-- flags:
-- args: call slot and number, name; `now`, nonce, 1 to allow an overlap or 0; or `instants`, their count, and the instants (ms)
-- reply: a list, empty if there is no such schedule; else `found`, then per job STORED_READY, STORED_SCHEDULED, STORED_PENDING, `DUPLICATE STATE SPACE ID` of the existing job or the reply that is remembered, or `OVERLAP ID` of the job that has not ended
local name, kind = ARGV[3], ARGV[4]
local plan = load_plan(name)
local definition = plan and load_definition(name)
if not definition then
  return {}
end
local has_run = false
local STORED = { ready = STORED_READY, scheduled = STORED_SCHEDULED, pending = STORED_PENDING }

local function run(instant, id, what, overlap)
  local existing = find_existing(id, unique_key_of(definition))
  if existing then
    return existing
  end
  has_run = true
  local state = enqueue_scheduled(plan, definition, instant, id, overlap)
  remember(plan, instant, state and what or 'overlap')
  return state and STORED[state] or OVERLAP .. plan.current
end

call_reply = { 'found' }
if kind == 'now' then
  local nonce, overlap = ARGV[5], ARGV[6] == '0' and definition.overlap or nil
  call_reply[2] = run(now - now % 1000, name .. '@run-' .. nonce, 'run ' .. nonce, overlap)
else
  for i = 6, 5 + tonumber(ARGV[5]) do
    local instant = tonumber(ARGV[i])
    call_reply[#call_reply + 1] = run(instant, name .. '@' .. instant_text(instant), 'fired', nil)
  end
end
write_all()
if has_run then -- a duplicate changes nothing, not even the clock mark
  save_plan(plan)
end
commit()
return call_reply
