-- renew: extends a lease, requeues claims whose replies were lost, and reports lost tokens and jobs to cancel.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit lease errors attempts tombstone finish extend reap
-- flags: allow-oom
-- args: owner (BOOT_OWNER BOOT, or empty for a single claim), lease (ms), settled (highest seq whose reply arrived or was given up), count of known tokens, those tokens
-- reply: new lease end (0: no lease), count of lost tokens, those tokens, then ids of jobs to cancel
local PAGE, CLAIMS_PAGE, CLAIMS_MAX = 100, 500, 10000
local owner, lease_ms, settled = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens, known = {}, {}
for i = 5, 4 + tonumber(ARGV[4]) do
  tokens[#tokens + 1] = ARGV[i]
  known[ARGV[i]] = true
end

local function renew_reply(until_ms, lost, cancel)
  local reply = { until_ms or 0, #lost }
  for i = 1, #lost do
    reply[#reply + 1] = lost[i]
  end
  for i = 1, #cancel do
    reply[#reply + 1] = cancel[i]
  end
  return reply
end

-- Whether a claim of this owner is open or recently finished and lost no job.
local function is_intact(token, of)
  local _, its_owner = claimed_ids(token)
  if its_owner ~= of or is_forgotten(token) then
    return false
  end
  local left = redis.call('HGET', k_left, token)
  return not (left and string.find('\n' .. left, '\nlease_lost ', 1, true))
end

-- Jobs of an owner with a cancel request, in id order.
local function asked_to_stop(of, token)
  if redis.call('ZCARD', k_stopping) == 0 then
    return {}
  end
  local found = redis.call('ZRANGEBYLEX', k_stopping, '[' .. of .. '\t', '(' .. of .. '\n')
  local ids = {}
  for i = 1, #found do
    local id = string.sub(found[i], #of + 2)
    if not token or lease_of(id, token) then
      ids[#ids + 1] = id
    end
  end
  return ids
end

-- Requeues claims whose replies the worker never received. At the front the newest claim goes first, so that the jobs
-- end up in claim order; at the back the oldest goes first.
local function requeue_unknown_claims()
  local is_newest_first = rule(REQUEUE) == REQUEUE_FRONT
  local requeued, from = 0, 0
  while requeued < PAGE and from < CLAIMS_MAX do
    local low, high = '[' .. owner .. '\t', '(' .. owner .. '\n'
    local page
    if is_newest_first then
      page = redis.call('ZREVRANGEBYLEX', k_holds, high, low, 'LIMIT', from, CLAIMS_PAGE)
    else
      page = redis.call('ZRANGEBYLEX', k_holds, low, high, 'LIMIT', from, CLAIMS_PAGE)
    end
    for i = 1, #page do
      local token = string.sub(page[i], #owner + 2)
      local open = requeued < PAGE and not known[token] and open_claim(token)
      if open and open.seq <= settled then
        local jobs = load_leased_jobs(leased_ids(token))
        requeued = requeued + #jobs
        requeue_or_cancel(jobs)
      end
    end
    from = from + #page
    if #page < CLAIMS_PAGE then
      break
    end
  end
  close_claims()
  prune_after_end()
end

local function renew_worker()
  local until_ms = extend(owner, lease_ms)
  if not until_ms then
    return renew_reply(nil, tokens, {})
  end
  requeue_unknown_claims()
  local lost = {}
  for i = 1, #tokens do
    -- An open claim under a live lease is intact: claims are taken back only as a whole.
    local is_open = redis.call('ZSCORE', k_holds, owner .. '\t' .. tokens[i])
    if not is_open and not is_intact(tokens[i], owner) then
      lost[#lost + 1] = tokens[i]
    end
  end
  return renew_reply(until_ms, lost, asked_to_stop(owner))
end

-- Extends the lease that a single token is under, whichever owner it has.
local function renew_single(token)
  local _, of = claimed_ids(token)
  if not of or not is_intact(token, of) then
    return renew_reply(nil, { token }, {})
  end
  if redis.call('HEXISTS', k_open, token) == 0 then
    return renew_reply(nil, {}, {})
  end
  local until_ms = extend(of, lease_ms)
  if not until_ms then
    return renew_reply(nil, { token }, {})
  end
  return renew_reply(until_ms, {}, asked_to_stop(of, token))
end

if not exists then
  return renew_reply(nil, tokens, {})
end
local reply = owner == '' and renew_single(tokens[1]) or renew_worker()
commit()
return reply
