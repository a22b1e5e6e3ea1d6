-- Claims and the leases of their jobs: who runs a job, and how it left its claim.
local LEAVE_STATUSES = { 'scheduled', 'dead', 'released', 'snoozed', 'cancelled', 'lease_lost' }
local open_claims = {} -- token -> open claim that jobs leave in this call

-- Decodes the lease of a running job.
local function decode_lease(text)
  local token, priority, flag, bytes, group, rest = string.match(text, '^([^\t]+)\t(%d)([%l-])(%d+)([^\t]*)(.*)$')
  local accepted, worker = string.match(rest or '', '^\t([^\t]*)\t?(.*)$')
  return {
    token = token,
    priority = tonumber(priority),
    flag = flag, -- VALUE_ONLY or MORE
    bytes = tonumber(bytes) or 0,
    group = group or '', -- a space and its group, for the fast scripts; only the space if it has none; empty if not known
    accepted = accepted or '',
    worker = worker or '',
  }
end

local function encode_lease(lease)
  local text = lease.token .. '\t' .. lease.priority .. lease.flag .. digits(lease.bytes) .. lease.group
  if lease.worker ~= '' then
    return text .. '\t' .. lease.accepted .. '\t' .. lease.worker
  end
  return lease.accepted == '' and text or text .. '\t' .. lease.accepted
end

-- There will be more to remove than the value when the job is completed, which the fast scripts do not.
local function add_to_lease(id, lease)
  if lease.flag == VALUE_ONLY then
    lease.flag = MORE
    redis.call('HSET', k_running, id, encode_lease(lease))
  end
end

local function lease_of(id, token)
  local text = redis.call('HGET', k_running, id)
  local lease = text and decode_lease(text)
  return lease and lease.token == token and lease or nil
end

-- The time of a claim, by the store's clock.
local function issued_at(token)
  return math.floor(tonumber(string.match(token, '^%d+')) / 1000)
end

local function open_claim(token)
  local open = open_claims[token]
  if open == nil then
    local text = redis.call('HGET', k_open, token)
    open = false
    if text then
      local remaining, seq, owner = string.match(text, '^(%-?%d+)\t(%d+)\t(.*)$')
      open = { remaining = tonumber(remaining), seq = tonumber(seq), owner = owner, left = '' }
    end
    open_claims[token] = open
  end
  return open
end

local function is_asked_to_stop(id, token)
  local open = open_claim(token)
  return open and redis.call('ZSCORE', k_stopping, open.owner .. '\t' .. id) and true or false
end

-- Takes a running job off its claim and removes its lease and progress.
local function leave_claim(id, token, status, opts)
  if opts[GROUP] then
    group_lib.leave_run(id, opts)
  end
  redis.call('HDEL', k_running, id)
  redis.call('HDEL', k_progress, id)
  local open = open_claim(token)
  if open then
    redis.call('ZREM', k_stopping, open.owner .. '\t' .. id)
    open.remaining = open.remaining - 1
    open.is_touched = true
    if status ~= 'completed' then
      open.left = open.left .. status .. ' ' .. id .. '\n'
    end
  end
  is_changed = true
end

-- Writes which jobs left each claim in this call. A claim without jobs is finished.
local function close_claims()
  local is_slot_free = false
  for token, open in pairs(open_claims) do
    if open and open.is_touched then
      is_slot_free = true
      if open.left ~= '' then
        redis.call('HSET', k_left, token, (redis.call('HGET', k_left, token) or '') .. open.left)
      end
      if open.remaining > 0 then
        redis.call('HSET', k_open, token, digits(open.remaining) .. '\t' .. digits(open.seq) .. '\t' .. open.owner)
      else
        redis.call('HDEL', k_open, token)
        redis.call('ZADD', k_tokens, now, token)
        if open.owner == TOKEN_OWNER .. token then
          -- The lease of a single claim ends with it; the lease of a boot continues.
          redis.call('ZREM', k_leases, open.owner)
          redis.call('HDEL', k_owners, open.owner)
        else
          redis.call('ZREM', k_holds, open.owner .. '\t' .. token)
        end
      end
    end
  end
  open_claims = {}
  -- Jobs may start in the slots that are free now.
  if is_slot_free and rule(MAX_RUNNING) >= 0 then
    work = math.max(work, startable())
  end
end

-- The ids of a claim in claim order, and its owner.
local function claimed_ids(token)
  local text = redis.call('HGET', k_claims, token)
  local ids = {}
  if not text then
    return ids
  end
  local head, list = string.match(text, '^([^\n]*)\n(.*)$')
  for id in string.gmatch(list or '', '([^\n]+)\n') do
    ids[#ids + 1] = id
  end
  return ids, string.match(head or '', '^%d+\t%d+\t(.*)$')
end

-- The ids of a claim that its token still leases, in claim order, and the size of the claim.
local function leased_ids(token)
  local ids = claimed_ids(token)
  local found = {}
  if #ids == 0 then
    return found, 0
  end
  local texts = redis.call('HMGET', k_running, unpack(ids))
  local prefix = token .. '\t'
  for i = 1, #ids do
    if texts[i] and string.sub(texts[i], 1, #prefix) == prefix then
      found[#found + 1] = ids[i]
    end
  end
  return found, #ids
end

local function is_forgotten(token)
  local ended = redis.call('ZSCORE', k_tokens, token)
  return not ended or tonumber(ended) + CLAIM_TOMBSTONE <= now
end

-- The status for a token that does not lease the job: the earlier status if this repeats the same call, else lease_lost,
-- or gone.
local function repeated_status(id, token, repeatable)
  local claim = redis.call('HGET', k_claims, token)
  if claim and not is_forgotten(token) and string.find(claim, '\n' .. id .. '\n', 1, true) then
    local open = open_claims[token]
    local left = '\n' .. (redis.call('HGET', k_left, token) or '') .. (open and open.left or '')
    local status = 'completed'
    for i = 1, #LEAVE_STATUSES do
      if string.find(left, '\n' .. LEAVE_STATUSES[i] .. ' ' .. id .. '\n', 1, true) then
        status = LEAVE_STATUSES[i]
      end
    end
    if not repeatable[status] then
      return 'lease_lost'
    end
    -- The first call must have reached the replicas too: WAIT needs a write to wait for.
    is_dirty = true
    return status
  end
  return redis.call('HEXISTS', k_jobs, id) == 1 and 'lease_lost' or 'gone'
end
