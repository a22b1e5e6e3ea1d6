-- fail: records failed attempts. A job is retried later or is dead.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit lease tombstone finish outcome
-- flags: allow-oom
-- args: count; per job id, token, error, and RETRY_BY_POLICY N (jitter), RETRY_AT MS or +MS, or RETRY_NEVER
-- reply: statuses (scheduled, dead, cancelled, lease_lost, gone) separated by spaces
local REPEATABLE = { scheduled = true, dead = true, cancelled = true }
local DEFAULT = { 20, 1000, 3600000, 1 }

local function policy_of(opts)
  if not opts[RETRY_POLICY] then
    return DEFAULT
  end
  local policy = {}
  for number in string.gmatch(opts[RETRY_POLICY], '%d+') do
    policy[#policy + 1] = tonumber(number)
  end
  return policy
end

-- Returns the due time of the next attempt, or nil and the reason.
local function next_attempt(opts, attempt, retry)
  local policy = policy_of(opts)
  local how, value = string.sub(retry, 1, 1), string.sub(retry, 2)
  local due
  if how == RETRY_NEVER then
    return nil, 'permanent'
  elseif how == RETRY_BY_POLICY then
    local delay = math.min(policy[DELAY_FIRST] * 2 ^ math.min(attempt - 1, 40), policy[DELAY_MAX])
    if policy[HAS_JITTER] == 1 then
      delay = math.floor(delay * (tonumber(value) + 1) / 65536)
    end
    due = after(delay)
  else
    due = resolve(value)
  end
  if attempt >= policy[MAX_ATTEMPTS] then
    return nil, 'exhausted'
  elseif opts[DEADLINE] and due > tonumber(opts[DEADLINE]) then
    return nil, 'deadline'
  end
  return due
end

local function fail_one(id, token, message, retry)
  local lease = lease_of(id, token)
  if not lease then
    return repeated_status(id, token, REPEATABLE)
  end
  local opts = load_reported_opts(id)
  if is_asked_to_stop(id, token) then
    return cancel_stopped(id, opts, lease)
  end
  local attempt = tonumber(opts[ATTEMPT] or 1)
  local due, reason = next_attempt(opts, attempt, retry)
  stats[BYTES] = stats[BYTES] + #message - redis.call('HSTRLEN', k_errors, id)
  redis.call('HSET', k_errors, id, message)
  if due then
    leave_claim(id, token, 'scheduled', opts)
    opts[ATTEMPT] = digits(attempt + 1)
    add_scheduled(id, opts, due)
    save_opts(id, opts)
    return 'scheduled'
  end
  leave_claim(id, token, 'dead', opts)
  end_dead(id, opts, lease.bytes, issued_at(token), reason)
  return 'dead'
end

return apply_outcomes(4, function(at)
  return fail_one(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end)
