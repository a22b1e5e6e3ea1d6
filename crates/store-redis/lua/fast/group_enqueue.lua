-- fast/group_enqueue: stores new jobs in a queue that uses groups, ready at once, in the common case.
-- keys: state jobs lane lined turns resting groups group_names sleepers wake hints
-- uses: fast/group
-- flags:
-- guards: lazy
-- args: as in enqueue.lua. A spec has only what a value may have, and a group; jobs without a group share the priority of the list
-- reply: STORED_READY for all; or `full`, before anything is written: repeat the call with enqueue.lua
local after, after_number = match(ARGV[AFTER], '^(.*) (%d+)$')
local stored = call('HMGET', k_state, STATS_FIELD, ARGV[CALL_SLOT], after or '', GROUPS_FIELD, RULES_FIELD)
local stats = stored[1] and #stored[1] == STATS_BYTES and { struct.unpack(HOT_FORMAT, stored[1]) }
local latest_call = tonumber(match(stored[2] or '0', '^%d+'))
if not stats or latest_call >= tonumber(ARGV[CALL_NUMBER]) then
  return 'full'
elseif after and match(stored[3] or '', '^%d+') ~= after_number then
  return 'full' -- as the page before: their order must not change
end
now_us = math.max(clock_us, stats[CLOCK_MARK])
now = math.floor(now_us / 1000)
local age, span = now - tonumber(ARGV[EARLIEST]), tonumber(ARGV[SPAN])
local ids_carry_time = math.abs(age) <= ULID_TRUST and math.abs(age - span) <= ULID_TRUST
local is_current = stats[SCHEMA] == GROUPS_SCHEMA and stats[PARTITIONS] == tonumber(ARGV[KNOWN_PARTITIONS])
if not is_current or not ids_carry_time or now_us - clock_us > CLOCK_SLACK_US or not load_rules(stored[4], stored[5]) then
  return 'full'
end

-- The jobs. Those with the same spec differ only in their places in the line.
local args_per_job = ARGV[SPEC] == OWN_SPECS and 3 or 2
local ids, values, lined, listed, bytes = {}, {}, {}, {}, 0
local specs, names, arrived, ready_by, texts = {}, {}, {}, {}, {}
local list_priority
local position = numbers[LINE_BACK] + LINE_MIDDLE
for i = FIRST_JOB, #ARGV - args_per_job + 1, args_per_job do
  local id, value, text = ARGV[i], ARGV[i + 1], args_per_job == 3 and ARGV[i + 2] or ARGV[SPEC]
  local spec = specs[text]
  if not spec then
    local lines, name, last = '\n' .. text, nil, nil
    local start = find(lines, '\n' .. GROUP, 1, true)
    if start then
      last = find(lines, '\n', start + 1, true)
      name = sub(lines, start + 2, last - 1)
    end
    -- The priority comes first.
    local priority = sub(text, 1, 1) == PRIORITY and byte(text, 2) - ZERO or PRIORITY_DEFAULT
    spec = { name = name, priority = priority }
    if name then
      if not texts[priority] then
        local lane = format('%02d', rules[5] == SLOT_RUN and 2 * priority + 1 or 1)
        texts[priority] = { '\t' .. lane, priority .. '0\t', IN_LINE .. lane, priority .. '0\n' }
      end
      local around = texts[priority]
      spec.start, spec.finish = name .. around[1], around[2]
      spec.header, spec.rest = sub(lines, 2, last) .. around[3], around[4] .. sub(lines, last + 1)
    else
      list_priority = list_priority or priority
      if priority ~= list_priority then
        return 'full'
      end
    end
    specs[text] = spec
  end
  local name, priority = spec.name, spec.priority
  if name then
    position = position + 1
    local digits, at = format('%d', position), #lined
    lined[at + 1], lined[at + 2] = '0', spec.start .. digits .. spec.finish .. id
    bytes = bytes + #value - 1
    value = spec.header .. digits .. spec.rest .. value
    local group = arrived[name]
    if not group then
      group = { count = 0, best = priority, first = priority }
      arrived[name], names[#names + 1] = group, name
    end
    group.count = group.count + 1
    if priority - group.best < 0 then
      group.best = priority
    end
    ready_by[priority] = (ready_by[priority] or 0) + 1
  else
    listed[#listed + 1] = id
    bytes = bytes + #value - #text - 1
  end
  local at = #ids
  ids[at + 1] = id
  values[2 * at + 1], values[2 * at + 2] = id, value
end
if stats[STALE_ENTRIES] > 0 or #ids > WAKE_MAX or (names[1] and not load_groups(names)) then
  return 'full'
end
local existing = call('HMGET', k_jobs, unpack(ids))
for i = 1, #ids do
  if existing[i] then
    return 'full'
  end
end

for i = 1, #names do
  local group, jobs = groups[names[i]], arrived[names[i]]
  change(group)
  if group.ready == 0 then
    -- It takes its turn after the groups that already wait.
    change_number(LAST_TURN, 1)
    group.turn, group.head = tonumber(numbers[LAST_TURN]), rules[5] == SLOT_RUN and jobs.best or jobs.first
    local limit = group.limits
    group.rate_next = limit.interval and math.min(group.rate_next, now_us + limit.period + limit.tolerance) or 0
  elseif group.where ~= RESTING then
    group.head = byte(group.where) - ZERO
    group.head = rules[5] == SLOT_RUN and math.min(group.head, jobs.best) or group.head
  elseif opening_of(group) - now_us <= 0 and not group.limits.is_paused and group.slots < group.limits.max then
    return 'full' -- it does not rest any more
  end
  group.ready = group.ready + jobs.count
end

-- A key of the wrong type must fail the call before the first write.
local has_waiters = stats[WAITERS_UNTIL] > now
if has_waiters then
  call('LLEN', k_wake)
  call('ZCARD', k_sleepers)
end
check_groups()
if listed[1] then
  call('LLEN', k_lane)
end
if lined[1] then
  call('ZADD', k_lined, unpack(lined))
end
if listed[1] then
  call('RPUSH', k_lane, unpack(listed))
end
call('HSET', k_jobs, unpack(values))
write_groups()
if has_waiters then
  call('ZREMRANGEBYSCORE', k_sleepers, '-inf', now)
  local woken, wakeups = call('ZPOPMIN', k_sleepers, #ids), {}
  for i = 1, #woken / 2 do
    wakeups[i] = '1'
  end
  if wakeups[1] then
    call('RPUSH', k_wake, unpack(wakeups))
  end
  if #wakeups < #ids then
    stats[WAITERS_UNTIL] = 0 -- no waiter is left
  end
end

numbers[LINE_BACK] = format('%d', position - LINE_MIDDLE)
for priority, count in pairs(ready_by) do
  change_number(GROUPED_READY + priority, count)
end
stats[BYTES] = stats[BYTES] + bytes
stats[TOTAL_ENQUEUED] = stats[TOTAL_ENQUEUED] + #ids
local minute = math.floor(now / 60000)
if stats[ENQUEUED_MINUTE] ~= minute then
  local before = stats[ENQUEUED_MINUTE] == minute - 1 and stats[ENQUEUED_MINUTE + 1] or 0
  stats[ENQUEUED_MINUTE], stats[ENQUEUED_MINUTE + 1], stats[ENQUEUED_MINUTE + 2] = minute, 0, before
end
stats[ENQUEUED_MINUTE + 1] = stats[ENQUEUED_MINUTE + 1] + #ids
stats[CLOCK_MARK] = now_us
local packed = struct.pack(HOT_FORMAT, unpack(stats, 1, HOT_COUNT)) .. sub(stored[1], HOT_BYTES + 1)
if listed[1] then
  local ready = 8 * (READY + list_priority) -- where its number of ready jobs ends
  local count = struct.unpack('<d', packed, ready - 7) + #listed
  packed = sub(packed, 1, ready - 8) .. struct.pack('<d', count) .. sub(packed, ready + 1)
end
call('HSET', k_state, STATS_FIELD, packed, GROUPS_FIELD, table.concat(numbers, ' '),
  ARGV[CALL_SLOT], ARGV[CALL_NUMBER] .. ' ' .. now .. ' ' .. STORED_READY)
if stats[WATCHED_UNTIL] > now then
  call('SPUBLISH', k_hints, 'ready ' .. table.concat(ids, '\nready ') .. '\n' .. NOTIFY_WORK)
end
return { STORED_READY }
