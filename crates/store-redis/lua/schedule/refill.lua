-- schedule/refill: replaces the known instants of schedules. Ignores refills that are outdated.
-- keys: state jobs opts ready suspects ghosts scheduled expiring leases owners schedules plans firing refilling lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts group/record group/line group/place waiting plan schedule/definition
-- flags:
-- args: per refill its name, revision, the time after which it begins, the number of instants left out, the newest of these, the time until which it is complete, and the instants: `SECONDS SPACE` or `SECONDS + JITTER_MS SPACE` each
-- reply: 1
if not has_schedules then
  return 1
end

-- Drops the instants up to a time.
local function after_time(instants, ms)
  local from = 1
  while true do
    local seconds, next_at = string.match(instants, '^(%d+)[%d+]* ()', from)
    if not seconds or seconds * 1000 > ms then
      return string.sub(instants, from)
    end
    from = next_at
  end
end

local function refill(at)
  local plan, definition = load_plan(ARGV[at]), load_definition(ARGV[at])
  local after, missed, known = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 5])
  if not plan or not definition or plan.revision ~= ARGV[at + 1] or (missed > 0 and after ~= plan.settled)
    or known < plan.settled or has_ended(plan, definition) then
    return
  end
  local refill_before = next_refill(plan)
  if missed > 0 then
    plan.missed = plan.missed + missed
    plan.settled = tonumber(ARGV[at + 4])
  end
  set_instants(plan, after_time(ARGV[at + 6], plan.settled), history_of(plan))
  plan.known = known
  save_instants(plan, refill_before)
end

local function first_firing()
  return tonumber(redis.call('ZRANGE', k_firing, 0, 0, 'WITHSCORES')[2] or NEVER)
end

local before = first_firing()
for at = 1, #ARGV - 6, 7 do
  refill(at)
end
write_all()
if before - first_firing() > 0 then
  work = work + 1
end
commit()
return 1
