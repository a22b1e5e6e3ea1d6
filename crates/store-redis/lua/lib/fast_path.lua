-- Decides whether a call can take the fast path, and checks the types of the keys it may write before it writes any.
-- The fast path handles only jobs without special options and writes few keys.
local is_fast = false
local heads -- the heads of the lanes, if already read; false if a job there needs the full path

local function nothing_due()
  return not redis.call('ZRANGEBYSCORE', k_scheduled, '-inf', now, 'LIMIT', 0, 1)[1]
    and not redis.call('ZRANGEBYSCORE', k_leases, '-inf', now, 'LIMIT', 0, 1)[1]
end

local function nothing_kept()
  return redis.call('ZCARD', k_succeeded) == 0
    and redis.call('ZCARD', k_dead) == 0
    and redis.call('ZCARD', k_cancelled) == 0
    and redis.call('ZCARD', k_forgetting) == 0
end

-- Whether no job that the call reads has opts that matter; it claims up to `max` jobs.
local function has_only_simple_opts(max)
  if redis.call('HLEN', k_opts) <= 1 then
    return true
  end
  heads = max == 0 and {} or read_lanes(max, true) or false
  return heads and true
end

-- `may_be_fast`: whether the arguments and the leases allow the fast path.
local function choose_path(may_be_fast, max)
  is_fast = may_be_fast and stats[STALE_ENTRIES] == 0 and not is_watched and rule(KEEP_SUCCEEDED) ~= KEEP_ALL
    and redis.call('HLEN', k_progress) == 0
    and redis.call('ZCARD', k_stopping) == 0
    and not has_suspects()
    and nothing_due()
    and nothing_kept()
    and read_at_once(max) == max
    and has_only_simple_opts(max)
  if not is_fast then
    check_types()
    return
  end
  for priority = 0, PRIORITY_LAST do
    if stats[READY + priority] > 0 then
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
