-- audit/end: drops unreadable rows of the history, corrects the counts of groups, and the ready counts within their bounds, even while workers are active: no lane has more ready jobs than entries, nor fewer than entries that are not stale.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names history sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/mark
-- flags: allow-oom
-- args: nonce of the audit
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
if is_latest_audit(ARGV[1]) then
  redis.call('HDEL', k_state, AUDIT_FIELD)
end
-- The next claim finds out what the fast scripts may do.
stats[FULL_FROM], stats[PRUNE_FROM], is_dirty = 0, 0, true
for priority = 0, PRIORITY_LAST do
  local high = '(' .. digits((priority + 1) * SUSPECT_LANE)
  local most = redis.call('LLEN', k_ready[priority]) + redis.call('ZCOUNT', k_suspects, priority * SUSPECT_LANE, high)
  local before = stats[READY + priority]
  local after = math.max(math.min(before, most), most - stats[STALE_ENTRIES])
  if after ~= before then
    stats[READY + priority], is_changed = after, true
    local change = 'was ' .. digits(before) .. ', counted ' .. digits(after)
    report('stats_wrong', nil, 'ready jobs of priority ' .. priority .. ': ' .. change)
  end
end

-- Lines and slots can be counted at any time, lines only if they are short enough for one call.
local LINED_MAX = 1000
local function count_groups()
  local counted, slots = {}, redis.call('ZCARD', k_working)
  counted[GROUPED_RUNNING] = rule(GROUP_SLOT) == SLOT_RUN and slots or math.min(group_numbers[GROUPED_RUNNING], slots)
  if redis.call('ZCARD', k_lined) <= LINED_MAX then
    for priority = 0, PRIORITY_LAST do
      counted[GROUPED_READY + priority] = 0
    end
    local members = redis.call('ZRANGE', k_lined, 0, -1)
    for i = 1, #members do
      local _, priority = group_lib.read_place(string.match(members[i], '\t(%d+)\t'))
      counted[GROUPED_READY + priority] = counted[GROUPED_READY + priority] + 1
    end
  end
  for i = GROUPED_RUNNING, GROUP_NUMBERS do
    local after = counted[i] or math.max(0, group_numbers[i])
    if group_numbers[i] ~= after then
      report('stats_wrong', nil, 'jobs with a group: was ' .. digits(group_numbers[i]) .. ', counted ' .. digits(after))
      group_numbers[i], are_numbers_changed, is_changed = after, true, true
    end
  end
end

if uses_groups then
  count_groups()
end

-- Rows of the history that cannot be read are dropped.
local rows, kept = redis.call('LRANGE', k_history, 0, -1), {}
for i = 1, #rows do
  local waits = string.match(rows[i], '^' .. string.rep('%d+ ', 10) .. '%d+(.*)$')
  if waits and string.gsub(waits, ' %d+:%d+', '') == '' then
    kept[#kept + 1] = rows[i]
  end
end
if #kept < #rows then
  redis.call('DEL', k_history)
  for i = 1, #kept do
    redis.call('RPUSH', k_history, kept[i])
  end
  report('value_unreadable', nil, 'history')
end
commit()
return page_reply('')
