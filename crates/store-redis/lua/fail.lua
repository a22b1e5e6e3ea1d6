-- fail: records failed attempts. A job is retried later or is dead.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names error_groups error_seen sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit lease errors attempts tombstone finish outcome
-- flags: allow-oom
-- args: count; per job id, token, error, RETRY_BY_POLICY N (jitter), RETRY_AT MS or +MS, or RETRY_NEVER, the normalized error, and how many bytes of the error its record and its group keep
-- reply: statuses (scheduled, dead, cancelled, lease_lost, gone) separated by spaces
local REPEATABLE = { scheduled = true, dead = true, cancelled = true }
local HOUR_MS = 3600000
local DEFAULT = { 20, 1000, 3600000, 1 }
local failed = 0

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

-- Counts an error in its group. A new group takes the place of the one that was not seen for the longest time.
local function count_error(id, opts, normalized, example)
  local name = (opts[KIND] or '') .. '\t' .. normalized
  local record = redis.call('HGET', k_error_groups, name)
  if not record and redis.call('HLEN', k_error_groups) >= ERROR_GROUPS_MAX then
    local oldest = redis.call('ZRANGE', k_error_seen, 0, 0)[1]
    if oldest then
      redis.call('HDEL', k_error_groups, oldest)
      redis.call('ZREM', k_error_seen, oldest)
    end
  end
  local seen, first, hours = string.match(record or '', '^(%d+)\t(%d+)\t%d+\t([%d: ]*)\t')
  local hour, seen_now, kept = math.floor(now / HOUR_MS), 1, {}
  for at, times in string.gmatch(hours or '', '(%d+):(%d+)') do
    if tonumber(at) == hour then
      seen_now = tonumber(times) + 1
    elseif tonumber(at) < hour and tonumber(at) + 24 > hour then
      kept[#kept + 1] = at .. ':' .. times
    end
  end
  kept[#kept + 1] = digits(hour) .. ':' .. digits(seen_now)
  local fields = { digits((tonumber(seen) or 0) + 1), first or digits(now), digits(now), table.concat(kept, ' '), id .. '\n' .. example }
  redis.call('HSET', k_error_groups, name, table.concat(fields, '\t'))
  redis.call('ZADD', k_error_seen, now, name)
end

local function fail_one(id, token, message, retry, normalized, length)
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
  failed = failed + 1
  record_attempt(id, opts, lease, ATTEMPT_FAILED, message, tonumber(length))
  count_error(id, opts, normalized, string.sub(message, 1, tonumber(length)))
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

return apply_outcomes(6, function(at)
  return fail_one(unpack(ARGV, at, at + 5))
end, function()
  if failed > 0 then -- for the history
    local before = tonumber(redis.call('HGET', k_state, FAILED_FIELD) or 0) or 0
    redis.call('HSET', k_state, FAILED_FIELD, digits(before + failed))
  end
end)
