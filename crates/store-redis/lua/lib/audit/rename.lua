-- Renames jobs with unreadable ids, and limits the jobs on one page.
local JOBS_ON_PAGE, BYTES_ON_PAGE = 200, 4194304

-- HSCAN returns payloads with the ids: fewer jobs if payloads are large.
local function jobs_on_page()
  local each = math.max(stats[BYTES], 0) / math.max(redis.call('HLEN', k_jobs), 1)
  return math.max(1, math.min(JOBS_ON_PAGE, math.floor(BYTES_ON_PAGE / math.max(each, 1))))
end

-- Moves a job to a readable id, derived from the old one so that a repeat is harmless, and adds it to its lane.
local function rename_job(id, value)
  local to = 'recovered-' .. redis.sha1hex(id)
  local opts = decode_valid_opts(redis.call('HGET', k_opts, id) or header_of(value))
  for _, key in ipairs({ k_jobs, k_opts, k_errors, k_results, k_running, k_progress, k_final, k_tombstones }) do
    redis.call('HDEL', key, id)
  end
  for _, key in ipairs({ k_scheduled, k_suspects, k_expiring, k_succeeded, k_dead, k_cancelled, k_forgetting }) do
    redis.call('ZREM', key, id)
  end
  if redis.call('HSETNX', k_jobs, to, value) == 1 then
    opts[CUSTOM_ID], opts[ENQUEUED_AT], opts[GENERATION] = '', opts[ENQUEUED_AT] or digits(now), nil
    opts[IS_SCHEDULED] = nil
    add_to_lane(to, opts)
  end
  report('id_unreadable', to)
end
