-- Decides what to do with each job of an enqueue. lib/store_jobs writes the collected changes afterwards.

-- Each job has an id and a value, and a spec with OWN_SPECS.
local args_per_job = ARGV[SPEC] == OWN_SPECS and 3 or 2

local ids = {}
for i = FIRST_JOB, #ARGV - args_per_job + 1, args_per_job do
  ids[#ids + 1] = ARGV[i]
end
local age = now - tonumber(ARGV[EARLIEST])
local ids_carry_time = math.abs(age) <= ULID_TRUST and math.abs(age - tonumber(ARGV[SPAN])) <= ULID_TRUST
local stored_values = #ids > 0 and redis.call('HMGET', k_jobs, unpack(ids)) or {}
local tombstones = #ids > 0 and redis.call('ZCARD', k_forgetting) > 0 and redis.call('HMGET', k_tombstones, unpack(ids)) or nil
local stale_records = stats[STALE_ENTRIES] > 0
local created = {} -- id -> state of jobs stored by this call
local jobs, lanes, all_opts, new_unique, replies = {}, {}, {}, {}, {}
local scheduled, expiring, expired_tombstones = {}, {}, {}
local amend -- changes a waiting job instead: only in amend.lua

-- A caller waits for an existing job: keep its outcome.
local function await_outcome(id, state)
  if KEEP[state] then
    return
  end
  local opts = created[id] and decode_opts(all_opts[id]) or load_opts(id)
  if opts[KEEP_OUTCOME] then
    return
  end
  local was_inline = is_inline(opts)
  opts[KEEP_OUTCOME] = ''
  is_changed = true
  if created[id] then
    all_opts[id] = encode_opts(opts)
    return
  end
  save_opts(id, opts)
  if state == 'ready' and was_inline then
    -- Its entry in the list does not tell the fast scripts, so its value must.
    local value = redis.call('HGET', k_jobs, id)
    redis.call('HSET', k_jobs, id, string.char(NEEDS_CARE) .. string.sub(value, header_length(value) + 1))
  elseif state == 'running' then
    local lease = redis.call('HGET', k_running, id)
    redis.call('HSET', k_running, id, (string.gsub(lease, '^([^\t]+\t%d)%' .. VALUE_ONLY, '%1' .. MORE)))
  end
end

-- The state of a scheduled or pending job, which most amendments are for.
local function scheduled_state(id)
  local due = redis.call('ZSCORE', k_scheduled, id)
  return due and (due == PENDING_SCORE and 'pending' or 'scheduled')
end

-- Finds the existing job by id, then by unique key. Returns its id, and its state or the reply that is remembered.
local function existing_job(i, id, key, may_amend)
  if created[id] then
    return id, created[id]
  end
  if stored_values[i] then
    return id, (state_of(id))
  end
  local tombstone = tombstones and tombstones[i]
  local reply, of = remembered(id, tombstone)
  if reply then
    return of, nil, reply
  end
  if key then
    local holder = new_unique[key] or redis.call('HGET', k_unique, key)
    local state = holder and (created[holder] or may_amend and scheduled_state(holder) or state_of(holder))
    if state then
      return holder, state
    end
    local name = HELD_KEY .. key
    local held = tombstones and redis.call('HGET', k_tombstones, name)
    reply, of = remembered(name, held)
    if reply then
      return of, nil, reply
    elseif held then
      expired_tombstones[#expired_tombstones + 1] = name
    end
  end
  if tombstone then
    expired_tombstones[#expired_tombstones + 1] = id
  end
end

local function put(id, opts, due)
  if due > now then
    created[id] = 'scheduled'
    scheduled[#scheduled + 1] = due
    scheduled[#scheduled + 1] = id
    opts[DUE_AT] = nil
    return STORED_SCHEDULED
  end
  opts[DUE_AT] = nil
  created[id] = 'ready'
  if opts[GROUP] then
    group_lib.add_to_line(id, opts, false)
    work = work + 1
    return STORED_READY
  end
  local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
  table.insert(lanes[priority], entry_of(id, opts))
  return STORED_READY
end

-- The value of a job in a line with all its opts, if a value may have them: then the fast scripts may claim it.
local function value_in_line(opts, value)
  local text = encode_opts(opts)
  local has_other = string.find('\n' .. text, '\n[^' .. PRIORITY .. KIND .. RETRY_POLICY .. TIMEOUT .. HEADERS .. IS_JSON .. GROUP .. IN_LINE .. ']')
  if has_other or #text + #value > INLINE_MAX then
    return value
  end
  opts.header = text
  return text .. string.sub(value, header_length(value))
end

local function spec_of(i)
  return args_per_job == 3 and ARGV[FIRST_JOB + 3 * i - 1] or ARGV[SPEC]
end

local function enqueue_one(i)
  local id, value, spec = ids[i], ARGV[FIRST_JOB + args_per_job * (i - 1) + 1], spec_of(i)
  local opts = decode_opts(spec)
  opts.header = header_of(value)
  local existing, state, reply = existing_job(i, id, opts[UNIQUE_KEY], opts[ON_DUPLICATE])
  -- A generated id that exists is a repeat of the call that stored the job.
  if state and opts[ON_DUPLICATE] and (existing ~= id or opts[CUSTOM_ID]) then
    local amended = amend(id, existing, state, opts, value)
    if amended then
      return amended
    end
  end
  if existing then
    local live = opts[KEEP_OUTCOME] and (state or created[existing] or state_of(existing))
    if live then
      await_outcome(existing, live)
    end
    return reply or DUPLICATE .. state .. ' ' .. existing
  elseif opts[ONLY_EXISTING] then
    return NOT_FOUND
  end
  opts[EXPIRES_AT] = opts[EXPIRES_AT] and digits(resolve(opts[EXPIRES_AT]))
  opts[DEADLINE] = opts[DEADLINE] and digits(resolve(opts[DEADLINE]))
  if not ids_carry_time or opts[CUSTOM_ID] then
    opts[ENQUEUED_AT] = digits(now)
  end
  reply = put(id, opts, opts[DUE_AT] and resolve(opts[DUE_AT]) or now)
  if opts[GROUP] and reply == STORED_READY then
    value = value_in_line(opts, value)
  end
  if opts[EXPIRES_AT] then
    expiring[#expiring + 1] = opts[EXPIRES_AT]
    expiring[#expiring + 1] = id
  end
  if opts[UNIQUE_KEY] then
    new_unique[opts[UNIQUE_KEY]] = id
  end
  all_opts[id] = not is_inline(opts) and encode_opts(opts) or nil
  jobs[#jobs + 1] = id
  jobs[#jobs + 1] = value
  stats[BYTES] = stats[BYTES] + #value - header_length(value)
  announce(id, created[id])
  return reply
end
