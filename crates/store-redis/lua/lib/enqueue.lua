-- What becomes of each job of an enqueue: decided and gathered here, written by the script afterwards.
local ULID_TRUST = 1000

-- Each job is an id and a payload, and a spec where they do not all have the same.
local FIRST = 6
local width = ARGV[5] == 's' and 3 or 2

local ids = {}
for i = FIRST, #ARGV - width + 1, width do
  ids[#ids + 1] = ARGV[i]
end
local is_id_timed = math.abs(now - tonumber(ARGV[1])) <= ULID_TRUST and math.abs(now - tonumber(ARGV[2])) <= ULID_TRUST
local stored_payloads = #ids > 0 and redis.call('HMGET', k_jobs, unpack(ids)) or {}
local tombs = #ids > 0 and redis.call('ZCARD', k_forgetting) > 0 and redis.call('HMGET', k_tombstones, unpack(ids)) or nil
local ghosts = f[GHOSTS] > 0
local created = {} -- ids stored by this call, with their state
local jobs, lanes, all_opts, new_unique, replies = {}, {}, {}, {}, {}
local scheduled, expiring, untombed = {}, {}, {}

-- Somebody waits for a job that was there before: its outcome will be kept.
local function await_outcome(id, state)
  if state ~= 'ready' and state ~= 'scheduled' and state ~= 'running' then
    return
  end
  local o = read_opts(all_opts[id] or redis.call('HGET', k_opts, id))
  if o.w then
    return
  end
  o.w = ''
  is_changed = true
  if created[id] then
    all_opts[id] = opts_text(o)
    return
  end
  save_opts(id, o)
  local hold = redis.call('HGET', k_running, id)
  if hold then
    -- The hold says that the job is no longer a plain one.
    redis.call('HSET', k_running, id, (string.gsub(hold, '^([^\t]+\t%d)[s-]', '%1o')))
  end
end

-- The job that was there first, by id, then by unique key: its id and state.
local function first_of(i, id, key)
  if created[id] then
    return id, created[id]
  end
  if stored_payloads[i] then
    return id, state_of(id)
  end
  local tomb = tombs and tombs[i]
  if tomb then
    local state, until_ms = string.match(tomb, '^(%l+) (%d+)$')
    if state and tonumber(until_ms) > now then
      return id, state
    end
    untombed[#untombed + 1] = id
  end
  if key then
    local holder = new_unique[key] or redis.call('HGET', k_unique, key)
    if holder then
      return holder, created[holder] or state_of(holder)
    end
  end
end

local function place(id, o, due)
  if due > now then
    created[id] = 'scheduled'
    scheduled[#scheduled + 1] = due
    scheduled[#scheduled + 1] = id
    o.d = nil
    return 's'
  end
  local priority = tonumber(o.p or 5)
  local entry = id
  local ghost = ghosts and redis.call('HGET', k_ghosts, id)
  if ghost then
    o.g = whole(tonumber(string.match(ghost, ' (%d+)$')) + 1)
    entry = '\t' .. o.g .. '\t' .. id
  end
  lanes[priority] = lanes[priority] or {}
  table.insert(lanes[priority], entry)
  created[id] = 'ready'
  o.d = nil
  return 'r'
end

local function payload_of(i)
  return ARGV[FIRST + width * (i - 1) + 1]
end

local function spec_of(i)
  return width == 3 and ARGV[FIRST + 3 * i - 1] or ARGV[5]
end

local function accept(i)
  local id, payload, spec = ids[i], payload_of(i), spec_of(i)
  local is_plain = spec == '' and is_id_timed
  local o = is_plain and {} or read_opts(spec)
  local first, state = first_of(i, id, o.u)
  if first and state then
    if o.w then
      await_outcome(first, state)
    end
    return '=' .. state .. ' ' .. first
  end
  o.e = o.e and whole(resolve(o.e))
  o.l = o.l and whole(resolve(o.l))
  if not is_id_timed or o.n then
    o.c = whole(now)
  end
  local word = place(id, o, o.d and resolve(o.d) or now)
  o.d = nil
  if o.e then
    expiring[#expiring + 1] = o.e
    expiring[#expiring + 1] = id
  end
  if o.u then
    new_unique[o.u] = id
  end
  local text = next(o) and opts_text(o) or nil
  all_opts[id] = text
  jobs[#jobs + 1] = id
  jobs[#jobs + 1] = payload
  f[BYTES] = f[BYTES] + #payload
  announce(id, created[id])
  return word
end
