-- Jobs whose ids no reader takes, and how many jobs one page looks at.
local JOBS_ON_PAGE, BYTES_ON_PAGE = 200, 4194304

-- Payloads come with the ids: fewer where they are large.
local function jobs_on_page()
  local each = math.max(f[BYTES], 0) / math.max(redis.call('HLEN', k_jobs), 1)
  return math.max(1, math.min(JOBS_ON_PAGE, math.floor(BYTES_ON_PAGE / math.max(each, 1))))
end

-- Moves a job to an id that can be read, the same whenever it is repeated, and puts it into its lane.
local function rename(id, payload)
  local to = 'recovered-' .. redis.sha1hex(id)
  local o = sound_opts(redis.call('HGET', k_opts, id) or '')
  for _, key in ipairs({ k_jobs, k_opts, k_errors, k_results, k_running, k_progress, k_final, k_tombstones }) do
    redis.call('HDEL', key, id)
  end
  for _, key in ipairs({ k_scheduled, k_suspects, k_expiring, k_succeeded, k_dead, k_cancelled, k_forgetting }) do
    redis.call('ZREM', key, id)
  end
  if redis.call('HSETNX', k_jobs, to, payload) == 1 then
    o.n, o.c, o.g = '', o.c or whole(now), nil
    put_in_lane(to, o)
  end
  report('id_unreadable', to)
end
