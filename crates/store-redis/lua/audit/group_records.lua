-- audit/group_records: counts the jobs of each group and finds its place again. Runs after audit/groups.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/validate audit/opts audit/job audit/group
-- flags: allow-oom
-- args: cursor
-- reply: as in lib/audit/report
if not exists or not uses_groups then
  return page_reply('')
end
local COUNT = 200

-- Whether a group is where it belongs: `where` and `score` are its placement.
local function is_in_place(group, version, where, score)
  if group.where == NOWHERE then
    return where == NOWHERE
  elseif group.where ~= RESTING then
    -- A claim places a group again that was placed by other limits.
    local is_known = where == group.where or where == RESTING and version ~= group_numbers[LIMITS_VERSION]
    return is_known and redis.call('ZSCORE', k_turns, group.where .. '\t' .. group.name)
  elseif redis.call('ZSCORE', k_recheck, group.name) then
    return true
  end
  local stored_score = tonumber(redis.call('ZSCORE', k_resting, group.name))
  -- A group whose time has come, or for which limits have changed, is placed again soon.
  local is_placed_soon = stored_score and (group_numbers[IS_STALE] == 1 or math.abs(stored_score) - now_us <= 0)
  return is_placed_soon or where == RESTING and stored_score == tonumber(score)
end

-- Removes a group from where it is, and places it again.
local function place_again(group)
  if group.where ~= RESTING and group.where ~= NOWHERE then
    redis.call('ZREM', k_turns, group.where .. '\t' .. group.name)
  end
  redis.call('ZREM', k_resting, group.name)
  redis.call('ZREM', k_recheck, group.name)
  group.where, touched[group.name], work = NOWHERE, group, work + 1
end

-- A group with ready jobs starts after one period at most.
local function check_rate(group)
  local before = group.rate_next
  if group.ready > 0 and group_lib.rate_of(group) then
    group_lib.cut_rate_of(group, now_us)
  end
  return group.rate_next == before
end

local function check(name, text)
  if not is_name(name) then
    redis.call('HDEL', k_groups, name)
    redis.call('ZREM', k_group_names, name)
    report('group_unreadable', nil, name)
    return
  end
  local before = #repairs
  local is_valid, version = group_lib.is_record(text)
  local group = group_lib.decode_group(name, is_valid and text or nil)
  group.is_stored, groups[name] = true, group
  if not is_valid then
    report('group_unreadable', nil, name)
  end
  local miscounted = group_lib.recount(group)
  if is_valid and miscounted then
    report('group_miscounted', nil, miscounted)
  end
  if not is_valid or group.turn - group_numbers[LAST_TURN] > 0 then
    group_lib.arrive(group)
  end
  if not check_rate(group) then
    report('group_rate_wrong', nil, name)
  end
  local where, score = group_lib.placement(group)
  if touched[name] or #repairs > before or not is_in_place(group, version, where, score) then
    place_again(group)
    if #repairs == before then
      report(where and 'group_misplaced' or 'without_group', nil, where and name or 'groups')
    end
  end
  if where and not redis.call('ZSCORE', k_group_names, name) then
    redis.call('ZADD', k_group_names, 0, name)
    report('group_not_listed', nil, name)
  end
end

local next_at = scan_page(k_groups, 'hash', ARGV[1], COUNT, check)
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
