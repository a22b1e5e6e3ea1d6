-- audit/groups: checks the lines and slots of groups, and that each group is named only where its record says. audit/group_records checks the rest.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/validate audit/opts audit/job audit/group
-- flags: allow-oom
-- args: name of the key; cursor
-- reply: as in lib/audit/report
if not exists or not uses_groups then
  return page_reply('')
end
local stage, cursor = ARGV[1], ARGV[2]
local COUNT = 200
local CHECK = {}
local KEYS_OF = {
  lined = k_lined, working = k_working, turns = k_turns, resting = k_resting, recheck = k_recheck, group_names = k_group_names,
}

local function drop(member, code, id, detail)
  redis.call('ZREM', KEYS_OF[stage], member)
  report(code, id, detail or stage)
end

-- Members are in order only while all have the same score.
local function check_score(member, score)
  if tonumber(score) ~= 0 then
    redis.call('ZADD', KEYS_OF[stage], 0, member)
    report('value_unreadable', nil, stage)
  end
end

-- A group with jobs must have a record.
local has_record = {}
local function check_record(name)
  has_record[name] = has_record[name] or redis.call('HEXISTS', k_groups, name) == 1
  if not has_record[name] then
    local group = group_lib.touch_group(name)
    group_lib.recount(group)
    group_lib.arrive(group)
    report('group_unreadable', nil, name)
    has_record[name], work = true, work + 1
  end
end

-- The position of a job in a line must be one that was given before.
local function check_position(place)
  local position = tonumber(string.sub(place, 3, 18)) - LINE_MIDDLE
  local at = position < 0 and LINE_FRONT or LINE_BACK
  if math.abs(position) > math.abs(group_numbers[at]) then
    group_numbers[at], are_numbers_changed = position, true
    report('stats_wrong', nil, 'positions in lines')
  end
end

function CHECK.lined(member, score)
  local group, place, id = string.match(member, '^([^\t]+)\t(%d+)\t([^\t]+)$')
  if not id or #place ~= 20 or not is_name(group) or not is_name(id) then
    drop(member, 'entry_unreadable')
    return
  end
  local state = state_of(id)
  local opts = state and repaired_opts(id)
  if not state then
    drop(member, 'without_job', id)
  elseif state ~= 'ready' then
    drop(member, 'in_two_states', id, 'lined and ' .. state)
  elseif opts[GROUP] ~= group or opts[IN_LINE] ~= place then
    drop(member, 'entry_wrong', id, 'line of group ' .. group)
  else
    check_score(member, score)
    check_position(place)
    check_record(group)
  end
end

-- Whether a job of a group may hold a slot. Only the slot itself tells whether a waiting or dead job has started.
local function may_hold(state)
  local slot = rule(GROUP_SLOT)
  return state == 'running' or slot ~= SLOT_RUN and (not KEEP[state] or slot == SLOT_SUCCESS and state == 'dead')
end

function CHECK.working(member, score)
  local group, id = string.match(member, '^([^\t]+)\t([^\t]+)$')
  if not id or not is_name(group) or not is_name(id) then
    drop(member, 'value_unreadable')
    return
  end
  local state = state_of(id)
  if not state then
    drop(member, 'without_job', id)
  elseif repaired_opts(id)[GROUP] ~= group or not may_hold(state) then
    drop(member, 'leftover', id)
  else
    check_score(member, score)
    check_record(group)
  end
end

-- Drops a member if the record of its group does not say that the group is there.
local function check_where(member, name, where)
  local text = redis.call('HGET', k_groups, name)
  local is_there = text and string.match(text, '^%S+') == where
  if not is_there then
    drop(member, text and 'group_misplaced' or 'without_group', nil, text and name)
  end
  return is_there
end

function CHECK.turns(member, score)
  local key, name = string.match(member, '^(%d+)\t([^\t]+)$')
  if check_where(member, name or '', key) then
    check_score(member, score)
  end
end

function CHECK.resting(name)
  check_where(name, name, RESTING)
end

function CHECK.recheck(name)
  if check_where(name, name, RESTING) and redis.call('ZSCORE', k_resting, name) then
    drop(name, 'group_misplaced', nil, name)
  end
end

function CHECK.group_names(name, score)
  if redis.call('HEXISTS', k_groups, name) == 0 then
    drop(name, 'without_group')
  else
    check_score(name, score)
  end
end

local next_at = scan_page(KEYS_OF[stage], 'zset', cursor, COUNT, CHECK[stage])
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
