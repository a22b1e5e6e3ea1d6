-- maintain: fires, promotes, reaps, expires and prunes, up to a limit of each, drops stale entries and forgets old calls.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting schedules plans firing refilling lined working turns resting recheck groups group_names history sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit history lease errors attempts tombstone finish cancel schedule/definition schedule/enqueue schedule/fire extend reap stale pick
-- flags: allow-oom
-- args: limit
-- reply: promoted, reaped, expired, pruned, forgotten, stale entries dropped; then, if the queue has schedules, instants settled, now, and per schedule that needs instants its name, revision, rule and the time until which it is settled
if not exists then
  return { 0, 0, 0, 0, 0, 0 }
end
local limit = math.min(tonumber(ARGV[1]), PAGE)

-- Forgets old calls in a page of the slots; the next call continues with the next page. Their clients have ended.
local CALL_MEMORY, CALLS_PAGE = 900000, 100 -- longer than the store sends a call again
local function forget_calls()
  local cursor = redis.call('HGET', k_state, CALLS_FIELD) or '0'
  local page = redis.call('HSCAN', k_state, cursor, 'MATCH', CALLS_FIELD .. '?*', 'COUNT', CALLS_PAGE)
  if page[1] ~= cursor then
    redis.call('HSET', k_state, CALLS_FIELD, page[1])
  end
  for i = 1, #page[2], 2 do
    local at = tonumber(string.match(page[2][i + 1], '^%d+ (%d+)') or 0)
    if math.abs(now - at) > CALL_MEMORY then
      redis.call('HDEL', k_state, page[2][i])
    end
  end
end

-- Ends waiting jobs that did not start before they expired.
local function expire_waiting()
  if limit == 0 then
    return 0
  end
  local ids = redis.call('ZRANGEBYSCORE', k_expiring, '-inf', now, 'LIMIT', 0, limit)
  for i = 1, #ids do
    local state = state_of(ids[i])
    if state == 'ready' or state == 'scheduled' or state == 'pending' then
      expire(ids[i], load_opts(ids[i]), state)
    else
      redis.call('ZREM', k_expiring, ids[i])
    end
  end
  return #ids
end

local instants = fire_due(limit)
local promoted = limit > 0 and promote_due(limit) or 0
local reaped, leases = reap(limit)
local expired = expire_waiting()
local pruned, forgotten = prune(limit)
local stale = drop_stale()
forget_calls()
group_lib.settle_groups()
group_lib.stop_groups()
history_lib.sample()
-- The next claim finds out what the fast scripts may do: nothing depends on this number for long.
if stats[FULL_FROM] ~= 0 then
  stats[FULL_FROM], is_dirty = 0, true
end
commit()
local reply = { promoted, reaped, expired, pruned, forgotten + leases, stale }
if has_schedules then
  reply[#reply + 1], reply[#reply + 2] = instants, now
  local names = redis.call('ZRANGEBYSCORE', k_refilling, '-inf', now, 'LIMIT', 0, limit)
  for i = 1, #names do
    local plan, definition = load_plan(names[i]), load_definition(names[i])
    for _, value in ipairs(plan and definition and { plan.name, plan.revision, definition.rule, plan.settled } or {}) do
      reply[#reply + 1] = value
    end
  end
end
return reply
