-- Fires the due instants of schedules.
local FRESH_FOR = 60000
local is_memory_full, fire_due = false, nil
do -- a script may have 200 locals at a time
  -- Takes the due instants from the front of a plan. Each has its time, its age, and whether it fires; the others are
  -- missed. If some until now may be unknown, forgets those it knows: a refill has all of them. The same rule as
  -- `ScheduleRecord::take_due` in the core crate.
  local function take_due(plan, definition)
    if plan.known < now then
      forget_instants(plan)
    end
    local due, fresh = {}, 0
    while true do
      local seconds, jitter, next_at = string.match(plan.text, '^(%d+)%+?(%d*) ()', plan.at)
      local age = seconds and now - seconds * 1000 - (tonumber(jitter) or 0)
      if not age or age < 0 then
        break
      end
      due[#due + 1] = { at = seconds * 1000, age = age, fires = true }
      fresh = fresh + (age <= FRESH_FOR and 1 or 0)
      plan.at = next_at
    end
    plan.count = plan.count - #due
    if fresh == #due then
      return due
    end
    local caught_up = tonumber(definition.missed) or definition.missed == 'last' and fresh == 0 and 1 or 0
    for i = 1, #due do
      local is_caught_up = i > #due - fresh - caught_up and due[i].age - definition.catch_up < 0
      due[i].fires = due[i].age <= FRESH_FOR or is_caught_up
    end
    return due
  end

  -- Settles one instant. Returns what the history says about it.
  local function settle(plan, definition, instant)
    if plan.is_paused then
      return 'paused'
    elseif not instant.fires then
      return 'missed'
    end
    local id = plan.name .. '@' .. instant_text(instant.at)
    if find_existing(id, unique_key_of(definition)) then
      return 'duplicate'
    end
    return enqueue_scheduled(plan, definition, instant.at, id, definition.overlap) and 'fired' or 'overlap'
  end

  -- Settles all due instants of a schedule. Returns how many; waiting for a refill counts as one.
  local function fire(plan, definition)
    local refill = next_refill(plan)
    local due, settled = take_due(plan, definition), 0
    for i = 1, #due do
      plan.settled = due[i].at
      if not plan.is_paused and has_ended(plan, definition) then
        break
      end
      settled = settled + 1
      local what = settle(plan, definition, due[i])
      local total = (what == 'fired' or what == 'missed') and what or 'skipped'
      plan[total] = plan[total] + 1
      remember(plan, due[i].at, what)
      end_after_last_time(plan, definition)
    end
    save_instants(plan, refill)
    return math.max(1, settled)
  end

  -- Finds out at once which ids of the first instants are free.
  local function find_free_ids(names)
    local ids = {}
    for i = 1, #names do
      local plan = plans[names[i]]
      local seconds = plan and string.match(plan.text, '^%d+', plan.at)
      ids[i] = names[i] .. '@' .. (seconds and instant_text(seconds * 1000) or '')
    end
    local values, tombstones = redis.call('HMGET', k_jobs, unpack(ids)), redis.call('HMGET', k_tombstones, unpack(ids))
    for i = 1, #ids do
      free_ids[ids[i]] = not values[i] and not tombstones[i]
    end
  end

  -- At `maxmemory` the scripts that fire still run, because they end jobs. They must not enqueue: instants stay due.
  local function check_memory()
    local info = redis.call('INFO', 'memory')
    local function bytes(field)
      return tonumber(string.match(info, '\n' .. field .. ':(%d+)') or 0)
    end
    local limit = bytes('maxmemory')
    is_memory_full = limit > 0 and bytes('used_memory') - bytes('mem_not_counted_for_evict') > limit
  end

  -- Settles due instants in the order of time and name, until `limit` are settled. Returns how many.
  fire_due = function(limit)
    local names = has_schedules and redis.call('ZRANGEBYSCORE', k_firing, '-inf', now, 'LIMIT', 0, limit) or {}
    if #names > 0 then
      check_memory()
    end
    if #names == 0 or is_memory_full then
      return 0
    end
    local definitions, settled = redis.call('HMGET', k_schedules, unpack(names)), 0
    load_plans(names)
    find_free_ids(names)
    for i = 1, #names do
      local plan, definition = plans[names[i]], settled < limit and decode_definition(definitions[i])
      if plan and definition then
        settled = settled + fire(plan, definition)
      elseif settled < limit then
        -- It is damaged. An audit repairs it.
        redis.call('ZREM', k_firing, names[i])
      end
    end
    write_all()
    return settled
  end
end
