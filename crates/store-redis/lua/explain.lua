-- explain: reads what keeps a job from starting, without scanning.
-- keys: state settings jobs opts errors results scheduled running open stopping progress final leases ready suspects plans lined working groups
-- uses: stats state opts errors read
-- flags: no-writes
-- args: id
-- reply: an empty list, or the twelve values of lib/read and the end of the lease; packed stats; numbers of all groups (may be empty); now (us); 1 if the clock was set back; until when the queue rests (ms); number of its rate (us); running jobs; the job that a pending one waits for and its state (may be empty); jobs ahead in its line, and in its group; 1 if the first is an estimate; record of its group (may be empty); 1 if the job holds a slot; first ready job of the group (may be empty); number of slot holders, each with id, state, lease and owner (may be empty); then names and values of the settings
local HOLDERS_MAX = 10
local id, reply = ARGV[1], {}
if not exists or not read_job(id, false, false, reply) then
  return {}
end
local state, owner, opts = reply[JOB_STATE], reply[JOB_OWNER], decode_opts(reply[JOB_OPTS])
local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
reply[JOB_LEASE_UNTIL] = owner and redis.call('ZSCORE', k_leases, owner) or false

local function add(...)
  for i = 1, select('#', ...) do
    reply[#reply + 1] = select(i, ...)
  end
end

-- The current job of the schedule of a pending job.
local function waits_for()
  local name = state == 'pending' and opts[IS_SCHEDULED] and string.match(id, '^[^@]+')
  local plan = name and redis.call('HGET', k_plans, name)
  local current = plan and string.match(plan, '^[^\n]*\n([^\n]*)\n') or ''
  return current, current ~= '' and state_of(current) or ''
end

-- When the job of an entry entered its list, unless it returned to it.
local function lined_at(entry)
  local entry_id = string.match(entry, '^\t%d+\t(.*)$') or entry
  local entry_opts = load_opts(entry_id)
  return math.max(enqueued_at(entry_id, entry_opts), tonumber(entry_opts[DUE_AT] or 0))
end

-- How many jobs without a group and with the same priority come first. A list does not know the position of an entry: between
-- its ends it is estimated by the time at which jobs entered the list.
local function ahead_in_list()
  local low, high = priority * SUSPECT_LANE, '(' .. digits((priority + 1) * SUSPECT_LANE)
  if is_suspect(opts) then
    local score = redis.call('ZSCORE', k_suspects, id)
    return score and redis.call('ZCOUNT', k_suspects, low, '(' .. score) or 0, 0
  end
  local suspects = redis.call('ZCOUNT', k_suspects, low, high)
  local others, own = stats[READY + priority] - suspects - 1, load_opts(id)
  local entry = is_inline(own) and id or '\t' .. (own[GENERATION] or '0') .. '\t' .. id
  local first, last = redis.call('LINDEX', k_ready[priority], 0), redis.call('LINDEX', k_ready[priority], -1)
  if others <= 0 or first == entry or not first then
    return suspects, 0
  elseif last == entry then
    return suspects + others, 0
  end
  local from, to = lined_at(first), lined_at(last)
  local share = to - from > 0 and (lined_at(entry) - from) / (to - from) or 0.5
  return suspects + math.max(1, math.min(others, math.floor(share * others + 0.5))), 1
end

-- The jobs that hold a slot: in a group that is an ordered lane they need not run.
local function holders_of(name)
  local members = redis.call('ZRANGEBYLEX', k_working, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', 0, HOLDERS_MAX)
  add(#members)
  if #members == 0 then
    return
  end
  local ids, tokens = {}, {}
  for i = 1, #members do
    ids[i] = string.sub(members[i], #name + 2)
  end
  local leases, ends = redis.call('HMGET', k_running, unpack(ids)), redis.call('HMGET', k_final, unpack(ids))
  local dues = redis.call('ZMSCORE', k_scheduled, unpack(ids))
  for i = 1, #ids do
    tokens[i] = leases[i] and string.match(leases[i], '^[^\t]+') or ''
  end
  local open = redis.call('HMGET', k_open, unpack(tokens))
  for i = 1, #ids do
    local waiting = dues[i] and 'scheduled' or 'ready'
    local holder_state = leases[i] and 'running' or ends[i] and string.match(ends[i], '^%l+') or waiting
    add(ids[i], holder_state, leases[i] or '', open[i] and string.match(open[i], '^%-?%d+\t%d+\t(.*)$') or '')
  end
end

add(stored[1], stored[4] or '', digits(now_us), is_clock_set_back and 1 or 0, math.max(0, rest_until))
add(redis.call('HGET', k_state, RATE_NEXT_FIELD) or 0, redis.call('HLEN', k_running) - redis.call('HEXISTS', k_running, ''))
add(waits_for())
local is_ready, name = state == 'ready', opts[GROUP]
if not is_ready then
  add(0, 0, 0)
elseif name then
  local member = '(' .. name .. '\t' .. (opts[IN_LINE] or '') .. '\t' .. id
  local in_group = redis.call('ZLEXCOUNT', k_lined, '[' .. name .. '\t', member)
  local is_lane = rule(GROUP_SLOT) ~= SLOT_RUN
  add(is_lane and in_group or redis.call('ZLEXCOUNT', k_lined, '[' .. name .. '\t' .. string.format('%02d', 2 * priority), member), in_group, 0)
else
  local ahead, is_estimate = ahead_in_list()
  add(ahead, 0, is_estimate)
end
local is_grouped = name and uses_groups and (is_ready or state == 'scheduled' or state == 'pending')
add(is_grouped and redis.call('HGET', k_groups, name) or '')
add(is_grouped and redis.call('ZSCORE', k_working, name .. '\t' .. id) and 1 or 0)
if is_grouped and is_ready then
  local first = redis.call('ZRANGEBYLEX', k_lined, '[' .. name .. '\t', '(' .. name .. '\n', 'LIMIT', 0, 1)[1]
  add(first and string.match(first, '^[^\t]*\t%d+\t(.*)$') or '')
  holders_of(name)
else
  add('', 0)
end
add(unpack(redis.call('HGETALL', k_settings)))
return reply
