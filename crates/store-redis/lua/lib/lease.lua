-- Claims and the holds under them: who holds a job, and how it left.
local CLAIM_TOMBSTONE = 60000
local LEFT = { 'scheduled', 'dead', 'released', 'snoozed', 'cancelled', 'lease_lost' }
local opens = {} -- token -> what is known of an open claim that jobs leave in this step

-- The parts of a hold.
local function read_hold(text)
  local token, priority, flag, bytes, rest = string.match(text, '^([^\t]+)\t(%d)([os-])(%d+)(.*)$')
  local accepted, worker = string.match(rest or '', '^\t([^\t]*)\t?(.*)$')
  return {
    token = token,
    priority = tonumber(priority),
    flag = flag, -- of its opts: `-` none, `s` none that matter at a good end, `o` others
    bytes = tonumber(bytes) or 0,
    accepted = accepted or '',
    worker = worker or '',
  }
end

local function hold_text(hold)
  local text = hold.token .. '\t' .. hold.priority .. hold.flag .. whole(hold.bytes)
  if hold.worker ~= '' then
    return text .. '\t' .. hold.accepted .. '\t' .. hold.worker
  end
  return hold.accepted == '' and text or text .. '\t' .. hold.accepted
end

local function held(id, token)
  local text = redis.call('HGET', k_running, id)
  local hold = text and read_hold(text)
  return hold and hold.token == token and hold or nil
end

-- When a claim was made, by the store's clock.
local function issued_at(token)
  return math.floor(tonumber(string.match(token, '^%d+')) / 1000)
end

local function open_claim(token)
  local open = opens[token]
  if open == nil then
    local text = redis.call('HGET', k_open, token)
    open = false
    if text then
      local remaining, seq, owner = string.match(text, '^(%-?%d+)\t(%d+)\t(.*)$')
      open = { remaining = tonumber(remaining), seq = tonumber(seq), owner = owner, left = '' }
    end
    opens[token] = open
  end
  return open
end

local function is_asked_to_stop(id, token)
  local open = open_claim(token)
  return open and redis.call('ZSCORE', k_stopping, open.owner .. '\t' .. id) and true or false
end

-- Notes how a running job left its claim, and wipes what only a running job has.
local function leave_claim(id, token, how)
  redis.call('HDEL', k_running, id)
  redis.call('HDEL', k_progress, id)
  local open = open_claim(token)
  if open then
    redis.call('ZREM', k_stopping, open.owner .. '\t' .. id)
    open.remaining = open.remaining - 1
    open.is_touched = true
    if how ~= 'completed' then
      open.left = open.left .. how .. ' ' .. id .. '\n'
    end
  end
  is_changed = true
end

-- Writes down what left each claim in this step; a claim that holds nothing more is finished.
local function close_claims()
  for token, open in pairs(opens) do
    if open and open.is_touched then
      if open.left ~= '' then
        redis.call('HSET', k_left, token, (redis.call('HGET', k_left, token) or '') .. open.left)
      end
      if open.remaining > 0 then
        redis.call('HSET', k_open, token, whole(open.remaining) .. '\t' .. whole(open.seq) .. '\t' .. open.owner)
      else
        redis.call('HDEL', k_open, token)
        redis.call('ZADD', k_tokens, now, token)
        if open.owner == 't:' .. token then
          -- A single claim's lease has nothing left to hold; a boot's goes on.
          redis.call('ZREM', k_leases, open.owner)
          redis.call('HDEL', k_owners, open.owner)
        else
          redis.call('ZREM', k_holds, open.owner .. '\t' .. token)
        end
      end
    end
  end
  opens = {}
end

-- The ids of a claim in its order, and its owner.
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

-- The ids of a claim that its token still holds, in claim order.
local function still_held(token)
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

-- The answer to a token that does not hold the job: what the same verb was told before, or that the hold is lost, or
-- that the job is gone.
local function told_before(id, token, same)
  local claim = redis.call('HGET', k_claims, token)
  if claim and not is_forgotten(token) and string.find(claim, '\n' .. id .. '\n', 1, true) then
    local open = opens[token]
    local left = '\n' .. (redis.call('HGET', k_left, token) or '') .. (open and open.left or '')
    local how = 'completed'
    for i = 1, #LEFT do
      if string.find(left, '\n' .. LEFT[i] .. ' ' .. id .. '\n', 1, true) then
        how = LEFT[i]
      end
    end
    return same[how] and how or 'lease_lost'
  end
  return redis.call('HEXISTS', k_jobs, id) == 1 and 'lease_lost' or 'gone'
end
