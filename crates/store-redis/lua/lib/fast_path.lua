-- Types of keys are checked before anything is written. A quiet step, which most are, meets nothing but jobs that ask
-- for nothing on their way and writes few keys; what could make it write others is looked at first.
local is_quiet = false
local looked -- the heads of the lanes, where they were looked at before; false when a job there needs a closer look

local function is_nothing_due()
  return not redis.call('ZRANGEBYSCORE', k_scheduled, '-inf', now, 'LIMIT', 0, 1)[1]
    and not redis.call('ZRANGEBYSCORE', k_leases, '-inf', now, 'LIMIT', 0, 1)[1]
end

local function is_nothing_kept()
  return redis.call('ZCARD', k_succeeded) == 0
    and redis.call('ZCARD', k_dead) == 0
    and redis.call('ZCARD', k_cancelled) == 0
    and redis.call('ZCARD', k_forgetting) == 0
end

-- Whether no job that the step meets has opts that matter; `max` is how many it may claim.
local function meets_only_mute(max)
  if redis.call('HLEN', k_opts) <= 1 then
    return true
  end
  looked = max == 0 and {} or look_lanes(max, true) or false
  return looked and true
end

-- `may_be` is what the arguments and the holds say.
local function guard(may_be, max)
  is_quiet = may_be and f[GHOSTS] == 0 and not is_watched and rule(KEEP_SUCCEEDED) ~= 1
    and redis.call('HLEN', k_progress) == 0
    and redis.call('ZCARD', k_stopping) == 0
    and not has_suspects()
    and is_nothing_due()
    and is_nothing_kept()
    and meets_only_mute(max)
  if not is_quiet then
    guard_all()
    return
  end
  for priority = 0, 9 do
    if f[READY + priority] > 0 then
      redis.call('LLEN', k_ready[priority])
    end
  end
  redis.call('HLEN', k_jobs)
  redis.call('HLEN', k_running)
  redis.call('HLEN', k_open)
  redis.call('HLEN', k_claims)
  redis.call('HLEN', k_left)
  redis.call('ZCARD', k_tokens)
  redis.call('ZCARD', k_holds)
  redis.call('HLEN', k_owners)
end
