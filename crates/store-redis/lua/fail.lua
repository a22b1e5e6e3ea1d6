-- fail: ends attempts badly: again later, or dead.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish outcome
-- flags: allow-oom
-- args: how many; id, token, error, retry of each: `jN` by policy with jitter N, `dMS` or `d+MS` at a time, `p` permanent
-- reply: the words (scheduled, dead, cancelled, lease_lost, gone) in one text, separated by spaces
local SAME = { scheduled = true, dead = true, cancelled = true }
local DEFAULT = { 20, 1000, 3600000, 1 }

local function policy_of(o)
  if not o.r then
    return DEFAULT
  end
  local policy = {}
  for number in string.gmatch(o.r, '%d+') do
    policy[#policy + 1] = tonumber(number)
  end
  return policy
end

-- When attempt number `attempt` is followed by another, or why by none.
local function verdict(o, attempt, retry)
  local policy = policy_of(o)
  local how, value = string.sub(retry, 1, 1), string.sub(retry, 2)
  local due
  if how == 'p' then
    return nil, 'permanent'
  elseif how == 'j' then
    local delay = math.min(policy[2] * 2 ^ math.min(attempt - 1, 40), policy[3])
    if policy[4] == 1 then
      delay = math.floor(delay * (tonumber(value) + 1) / 65536)
    end
    due = now + delay
  else
    due = resolve(value)
  end
  if attempt >= policy[1] then
    return nil, 'exhausted'
  elseif o.l and due > tonumber(o.l) then
    return nil, 'deadline'
  end
  return due
end

local function fail_one(id, token, message, retry)
  local hold = held(id, token)
  if not hold then
    return told_before(id, token, SAME)
  end
  local o = load_opts(id)
  if is_asked_to_stop(id, token) then
    return stop(id, o, hold)
  end
  local attempt = tonumber(o.a or 1)
  local due, reason = verdict(o, attempt, retry)
  f[BYTES] = f[BYTES] + #message - redis.call('HSTRLEN', k_errors, id)
  redis.call('HSET', k_errors, id, message)
  if due then
    leave_claim(id, token, 'scheduled')
    o.a = whole(attempt + 1)
    place_scheduled(id, o, due)
    save_opts(id, o)
    return 'scheduled'
  end
  leave_claim(id, token, 'dead')
  bury(id, o, hold.bytes, issued_at(token), reason)
  return 'dead'
end

return settle(4, function(at)
  return fail_one(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end)
