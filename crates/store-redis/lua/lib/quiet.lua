-- Types of keys are checked before anything is written. A quiet step, which most are, meets nothing but plain jobs on
-- their way and writes few keys; what could make it write others is looked at first.
local is_quiet = false

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

-- `may_be` is what the arguments say.
local function guard(may_be)
  is_quiet = may_be and f[GHOSTS] == 0 and not is_watched and rule(KEEP_SUCCEEDED) ~= 1
    and redis.call('HLEN', k_opts) <= 1
    and redis.call('HLEN', k_progress) == 0
    and redis.call('ZCARD', k_stopping) == 0
    and not has_suspects()
    and is_nothing_due()
    and is_nothing_kept()
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
