-- Requeues jobs of expired leases and of workers that left or were failed.
local PAGE_MAX, CLAIMED_SCAN_MAX = 100, 1000

-- Puts jobs back into their lanes in their order. `jobs`: {id, opts, lease}.
local function requeue_in_order(jobs)
  local at_front = rule(REQUEUE) == REQUEUE_FRONT
  local first, last, by = 1, #jobs, 1
  if at_front then
    first, last, by = #jobs, 1, -1
  end
  for i = first, last, by do
    local job = jobs[i]
    add_ready(job.id, job.opts, at_front)
    save_opts(job.id, job.opts)
  end
end

local function requeue_or_cancel(jobs)
  local to_requeue = {}
  for i = 1, #jobs do
    local job = jobs[i]
    local is_stopped = is_asked_to_stop(job.id, job.lease.token)
    leave_claim(job.id, job.lease.token, 'lease_lost', job.opts)
    if is_stopped then
      end_cancelled(job.id, job.opts, job.lease.bytes, issued_at(job.lease.token))
    else
      to_requeue[#to_requeue + 1] = job
    end
  end
  requeue_in_order(to_requeue)
end

-- Loads running jobs with their opts and leases.
local function load_leased_jobs(ids)
  local jobs = {}
  if #ids == 0 then
    return jobs
  end
  local leases = redis.call('HMGET', k_running, unpack(ids))
  local encoded_opts = redis.call('HMGET', k_opts, unpack(ids))
  for i = 1, #ids do
    jobs[i] = { id = ids[i], opts = load_opts(ids[i], encoded_opts[i]), lease = decode_lease(leases[i]) }
  end
  return jobs
end

local take_back
do -- a script may have 200 locals at a time
  -- Counts an expiry; a job that reaches the limit ends as poison. Only a job that was alone in its claim can be blamed,
  -- and one that was never accepted did not run.
  local function survives_expiry(job)
    local token = job.lease.token
    if job.lease.accepted == NOT_ACCEPTED or is_asked_to_stop(job.id, token) then
      return true
    end
    local expiries = tonumber(job.opts[EXPIRIES] or 0) + 1
    job.opts[EXPIRIES] = digits(expiries)
    record_attempt(job.id, job.opts, job.lease, ATTEMPT_EXPIRED)
    local size = tonumber(string.match(redis.call('HGET', k_claims, token) or '', '^%d+\t(%d+)'))
    if size == 1 and expiries >= rule(POISON_AFTER) then
      leave_claim(job.id, token, 'lease_lost', job.opts)
      save_opts(job.id, job.opts)
      end_dead(job.id, job.opts, job.lease.bytes, issued_at(token), 'poison')
      return false
    end
    return true
  end

  -- The open claims of an owner, in the order to requeue them: a page, plus one if there are more.
  local function tokens_of_owner(owner, is_newest_first)
    local token = string.match(owner, '^' .. TOKEN_OWNER .. '(.*)$')
    if token then
      return { token }
    end
    local prefix = owner .. '\t'
    local members
    if is_newest_first then
      members = redis.call('ZREVRANGEBYLEX', k_holds, '(' .. owner .. '\n', '[' .. prefix, 'LIMIT', 0, PAGE_MAX + 1)
    else
      members = redis.call('ZRANGEBYLEX', k_holds, '[' .. prefix, '(' .. owner .. '\n', 'LIMIT', 0, PAGE_MAX + 1)
    end
    local tokens = {}
    for i = 1, #members do
      tokens[i] = string.sub(members[i], #prefix + 1)
    end
    return tokens
  end

  -- Up to `limit` jobs that an owner leases, in claim order, and whether these are all. Jobs that go to the front start
  -- with the newest claims, so that page after page they end up in claim order.
  local function page_of_owner(owner, limit)
    local is_newest_first = rule(REQUEUE) == REQUEUE_FRONT
    local tokens = tokens_of_owner(owner, is_newest_first)
    local pages, taken, scanned, is_complete = {}, 0, 0, #tokens <= PAGE_MAX
    for i = 1, #tokens do
      -- Always takes at least one job: a call that takes none would be repeated forever.
      if taken >= limit or (taken > 0 and scanned >= CLAIMED_SCAN_MAX) then
        is_complete = false
        break
      end
      local ids, size = leased_ids(tokens[i])
      scanned = scanned + size
      if taken + #ids > limit then
        local room, cut = limit - taken, {}
        local from = is_newest_first and #ids - room or 0
        for j = 1, room do
          cut[j] = ids[from + j]
        end
        ids, is_complete = cut, false
      end
      pages[#pages + 1] = ids
      taken = taken + #ids
    end
    local ids_in_order = {}
    local first, last, by = 1, #pages, 1
    if is_newest_first then
      first, last, by = #pages, 1, -1
    end
    for i = first, last, by do
      for j = 1, #pages[i] do
        ids_in_order[#ids_in_order + 1] = pages[i][j]
      end
    end
    return ids_in_order, is_complete
  end

  -- Requeues up to `limit` jobs of an owner; ends its lease when none is left.
  take_back = function(owner, limit, is_expired)
    redis.call('ZADD', k_leases, 0, owner)
    is_changed = true
    local ids, is_complete = page_of_owner(owner, limit)
    local jobs = load_leased_jobs(ids)
    if is_expired then
      local survivors = {}
      for i = 1, #jobs do
        if survives_expiry(jobs[i]) then
          survivors[#survivors + 1] = jobs[i]
          if not is_asked_to_stop(jobs[i].id, jobs[i].lease.token) then
            stats[TOTAL_RESCUED] = stats[TOTAL_RESCUED] + 1
          end
        end
      end
      jobs = survivors
    end
    requeue_or_cancel(jobs)
    close_claims()
    if is_complete then
      redis.call('ZREM', k_leases, owner)
      redis.call('HDEL', k_owners, owner)
    end
    return #ids, is_complete
  end
end

-- Requeues up to `limit` jobs of expired leases, earliest end first. Returns the number of jobs and of leases ended.
local function reap(limit)
  local jobs, leases = 0, 0
  while jobs + leases < limit do
    local owner = redis.call('ZRANGEBYSCORE', k_leases, '-inf', now, 'LIMIT', 0, 1)[1]
    if not owner then
      break
    end
    local taken, is_complete = take_back(owner, limit - jobs - leases, true)
    jobs = jobs + taken
    if not is_complete then
      break
    end
    leases = leases + 1
  end
  return jobs, leases
end
