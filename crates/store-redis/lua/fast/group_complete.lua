-- fast/group_complete: completes jobs and claims more in a queue that uses groups, in the common case. Either part may be empty.
-- keys: state jobs ready running open claims left tokens holds leases owners lined working turns resting groups group_names sleepers wake hints
-- uses: fast/group fast/group_completions fast/group_turns fast/group_claim
-- flags: allow-oom
-- guards: lazy
-- args: as in complete.lua, without results
-- reply: as in complete.lua; or `full`, before anything is written: repeat the call with complete.lua
local PAGE = 100

-- Closed claims are removed many at once, after a while. Checked once a second, and until none is left.
local pruned = {}
if claimer and now >= stats[PRUNE_FROM] then
  local second = now - now % 1000
  pruned = call('ZRANGEBYSCORE', k_tokens, '-inf', '(' .. second - CLAIM_TOMBSTONE, 'LIMIT', 0, PAGE)
  call('HLEN', k_left)
  stats[PRUNE_FROM] = #pruned == PAGE and 0 or second + 1000
end
local nothing = { total > 0 and 'completed' or '', '', 0, NOTHING_FOUND, stats[PARTITIONS] }
if total == 0 and found == 0 and not pruned[1] then
  return nothing
end

-- A key of the wrong type must fail the call before the first write. All others were read, or are written first.
call('ZCARD', k_tokens)
call('ZCARD', k_holds)
call('ZCARD', k_working)
check_groups()
local is_waking = work > 0 and stats[WAITERS_UNTIL] > now
if is_waking then
  call('ZCARD', k_sleepers)
  call('LLEN', k_wake)
end
if found == 0 then
  call('HLEN', k_claims)
  call('HLEN', k_jobs)
end
local until_ms, left, lines = 0, NOTHING_FOUND, {}
if found > 0 then
  local owner, lease_ms = claimer == '' and TOKEN_OWNER .. token or claimer, ARGV[at + 4]
  call('HSET', k_claims, token, seq .. '\t' .. found .. '\t' .. owner .. '\n' .. text)
  scores[#scores + 1], scores[#scores + 2] = '+inf', token
  opened[#opened + 1], opened[#opened + 2] = token, found .. '\t' .. seq .. '\t' .. owner
  until_ms = math.max(tonumber(ends or now), now + lease_ms)
  call('ZADD', k_leases, until_ms, owner)
  local latest = claimer == '' and '\t' or seq .. '\t' .. token
  call('HSET', k_owners, owner, lease_ms .. '\t' .. latest .. '\t' .. suspect)
  if claimer ~= '' then
    call('ZADD', k_holds, 0, owner .. '\t' .. token)
  end
  call('HSET', k_running, unpack(leases))
  for priority, count in pairs(lanes) do
    call('LTRIM', k_ready[priority], count, -1)
    stats[LIST_BASE + priority] = stats[LIST_BASE + priority] + count
    stats[READY + priority] = stats[READY + priority] - count
  end
  stats[LAST_TOKEN] = math.max(now_us, stats[LAST_TOKEN] + 1)
  full_from = math.min(full_from, until_ms)
  stats[FULL_FROM] = is_limited and -full_from or full_from
end
if total > 0 then
  call('HDEL', k_running, unpack(ARGV, first, last))
  call('HDEL', k_jobs, unpack(ARGV, first, last))
  stats[BYTES] = stats[BYTES] - bytes
  stats[TOTAL_SUCCEEDED] = stats[TOTAL_SUCCEEDED] + total
  local minute = math.floor(now / 60000)
  if stats[ENDED_MINUTE] ~= minute then
    local before = stats[ENDED_MINUTE] == minute - 1 and stats[ENDED_MINUTE + 1] or 0
    stats[ENDED_MINUTE], stats[ENDED_MINUTE + 1], stats[ENDED_MINUTE + 2] = minute, 0, before
  end
  stats[ENDED_MINUTE + 1] = stats[ENDED_MINUTE + 1] + total
end
if grouped > 0 then
  slots_left[#slots_left + 1] = LONG_MEMBER
else
  new_slots = {}
end
local changes = {
  'HDEL', k_open, closed, 'HSET', k_open, opened, 'ZADD', k_tokens, scores, 'ZREM', k_holds, holds,
  'ZREM', k_leases, singles, 'HDEL', k_owners, singles,
  'ZREM', k_tokens, pruned, 'HDEL', k_claims, pruned, 'HDEL', k_left, pruned,
  'ZREM', k_lined, taken, 'ZADD', k_working, new_slots, 'ZREM', k_working, slots_left,
}
for i = 1, #changes, 3 do
  if changes[i + 2][1] then
    call(changes[i], changes[i + 1], unpack(changes[i + 2]))
  end
end
write_groups()
if wakeups and found > 0 then
  for priority = 0, PRIORITY_LAST do
    left = left + stats[READY + priority]
  end
  local grouped_left = call('ZCARD', k_turns) > 0 and PRIORITY_LAST or -1
  for priority = 0, grouped_left do
    left = left + numbers[GROUPED_READY + priority]
  end
  if left > 0 and wakeups == 0 then
    call('RPUSH', k_wake, '1') -- for the jobs left
  end
end
if is_waking then
  call('ZREMRANGEBYSCORE', k_sleepers, '-inf', now)
  local woken, more = call('ZPOPMIN', k_sleepers, work), {}
  for i = 1, #woken / 2 do
    more[i] = '1'
  end
  if more[1] then
    call('RPUSH', k_wake, unpack(more))
  end
  if #more < work then
    stats[WAITERS_UNTIL] = 0 -- no waiter is left
  end
end
stats[CLOCK_MARK] = now_us
numbers[LAST_TURN] = format('%d', last_turn)
change_number(GROUPED_RUNNING, grouped - slots_freed)
local packed = struct.pack(STATS_FORMAT, unpack(stats, 1, STATS_COUNT))
local all_numbers = table.concat(numbers, ' ')
if interval and found > 0 then
  call('HSET', k_state, STATS_FIELD, packed, GROUPS_FIELD, all_numbers, RATE_NEXT_FIELD, format('%d', next_us + found * interval))
else
  call('HSET', k_state, STATS_FIELD, packed, GROUPS_FIELD, all_numbers)
end
if stats[WATCHED_UNTIL] > now then
  for i = first, last do
    lines[#lines + 1] = 'succeeded ' .. ARGV[i]
  end
  for i = 1, found do
    lines[#lines + 1] = 'running ' .. ids[i]
  end
  if work > 0 then
    lines[#lines + 1] = NOTIFY_WORK
  end
  call('SPUBLISH', k_hints, table.concat(lines, '\n'))
end
return found == 0 and nothing
  or { nothing[1], token, until_ms, left, stats[PARTITIONS], text, VALUES_ONLY, unpack(values) }
