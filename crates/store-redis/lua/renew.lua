-- renew: moves the end of a lease; gives back claims whose replies were lost; says what was lost and what should stop.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap
-- flags: allow-oom
-- args: owner (b:BOOT, or empty for a single claim), lease (ms), settled (the highest seq answered or given up), how many tokens are known, those tokens
-- reply: new end of the lease (0: none), how many tokens were lost, those tokens, then ids that should stop
local PAGE, CLAIMS_MAX = 100, 10000
local owner, lease, settled = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens, known = {}, {}
for i = 5, 4 + tonumber(ARGV[4]) do
  tokens[#tokens + 1] = ARGV[i]
  known[ARGV[i]] = true
end

local function answer(until_ms, lost, cancel)
  local reply = { until_ms or 0, #lost }
  for i = 1, #lost do
    reply[#reply + 1] = lost[i]
  end
  for i = 1, #cancel do
    reply[#reply + 1] = cancel[i]
  end
  return reply
end

-- A claim of this owner, open or just finished, of which nothing was taken back.
local function is_remembered_whole(token, of)
  local _, its_owner = claimed_ids(token)
  if its_owner ~= of or is_forgotten(token) then
    return false
  end
  local left = redis.call('HGET', k_left, token)
  return not (left and string.find('\n' .. left, '\nlease_lost ', 1, true))
end

-- Jobs of an owner that somebody asked to stop, in the order of their ids.
local function asked_to_stop(of, token)
  if redis.call('ZCARD', k_stopping) == 0 then
    return {}
  end
  local found = redis.call('ZRANGEBYLEX', k_stopping, '[' .. of .. '\t', '(' .. of .. '\n', 'LIMIT', 0, PAGE)
  local ids = {}
  for i = 1, #found do
    local id = string.sub(found[i], #of + 2)
    if not token or held(id, token) then
      ids[#ids + 1] = id
    end
  end
  return ids
end

-- Claims the worker never heard of: their jobs go back to the front, newest claim first so that they end up in claim
-- order; at the back it is the oldest first.
local function give_back_unknown()
  local is_newest_first = rule(REQUEUE) == 0
  local given_back, from = 0, 0
  while given_back < PAGE and from < CLAIMS_MAX do
    local low, high = '[' .. owner .. '\t', '(' .. owner .. '\n'
    local page
    if is_newest_first then
      page = redis.call('ZREVRANGEBYLEX', k_holds, high, low, 'LIMIT', from, 500)
    else
      page = redis.call('ZRANGEBYLEX', k_holds, low, high, 'LIMIT', from, 500)
    end
    for i = 1, #page do
      local token = string.sub(page[i], #owner + 2)
      local open = given_back < PAGE and not known[token] and open_claim(token)
      if open and open.seq <= settled then
        local jobs = load_held(still_held(token))
        given_back = given_back + #jobs
        give_back(jobs)
      end
    end
    from = from + #page
    if #page < 500 then
      break
    end
  end
  close_claims()
  prune_step()
end

local function renew_worker()
  local until_ms = extend(owner, lease)
  if not until_ms then
    return answer(nil, tokens, {})
  end
  give_back_unknown()
  local lost = {}
  for i = 1, #tokens do
    -- An open claim of a boot that lives is whole: what is taken back from it is taken back whole.
    local is_open = redis.call('ZSCORE', k_holds, owner .. '\t' .. tokens[i])
    if not is_open and not is_remembered_whole(tokens[i], owner) then
      lost[#lost + 1] = tokens[i]
    end
  end
  return answer(until_ms, lost, asked_to_stop(owner))
end

-- The holder of one token renews the lease it is under, whosever that is.
local function renew_single(token)
  local _, of = claimed_ids(token)
  if not of or not is_remembered_whole(token, of) then
    return answer(nil, { token }, {})
  end
  if redis.call('HEXISTS', k_open, token) == 0 then
    return answer(nil, {}, {})
  end
  local until_ms = extend(of, lease)
  if not until_ms then
    return answer(nil, { token }, {})
  end
  return answer(until_ms, {}, asked_to_stop(of, token))
end

if not exists then
  return answer(nil, tokens, {})
end
local reply = owner == '' and renew_single(tokens[1]) or renew_worker()
commit()
return reply
