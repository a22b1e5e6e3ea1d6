-- Taking jobs back: from leases that expired, and from workers that left or were failed.
local PAGE_MAX, LOOK_MAX = 100, 1000

-- Puts held jobs back into their lanes so that they keep their order; those asked to stop end. `holds`: {id, o, hold}.
local function requeue_in_order(jobs)
  local at_front = rule(REQUEUE) == 0
  local first, last, by = 1, #jobs, 1
  if at_front then
    first, last, by = #jobs, 1, -1
  end
  for i = first, last, by do
    local job = jobs[i]
    place_ready(job.id, job.o, at_front)
    save_opts(job.id, job.o)
  end
end

local function give_back(jobs)
  local back = {}
  for i = 1, #jobs do
    local job = jobs[i]
    local is_stopped = is_asked_to_stop(job.id, job.hold.token)
    leave_claim(job.id, job.hold.token, 'lease_lost')
    if is_stopped then
      end_cancelled(job.id, job.o, job.hold.bytes, issued_at(job.hold.token))
    else
      back[#back + 1] = job
    end
  end
  requeue_in_order(back)
end

-- Running jobs by id, with their opts and holds.
local function load_held(ids)
  local jobs = {}
  if #ids == 0 then
    return jobs
  end
  local holds = redis.call('HMGET', k_running, unpack(ids))
  local opts = redis.call('HMGET', k_opts, unpack(ids))
  for i = 1, #ids do
    jobs[i] = { id = ids[i], o = read_opts(opts[i]), hold = read_hold(holds[i]) }
  end
  return jobs
end

-- Counts an expiry; a job that took its worker down once too often is dead. Only a job that was alone in its claim can
-- be blamed, and one that was never accepted has not run at all.
local function survives_expiry(job)
  local token = job.hold.token
  if job.hold.accepted == 'd' or is_asked_to_stop(job.id, token) then
    return true
  end
  local expiries = tonumber(job.o.x or 0) + 1
  job.o.x = whole(expiries)
  local size = tonumber(string.match(redis.call('HGET', k_claims, token) or '', '^%d+\t(%d+)'))
  if size == 1 and expiries >= rule(POISON_AFTER) then
    leave_claim(job.id, token, 'lease_lost')
    save_opts(job.id, job.o)
    bury(job.id, job.o, job.hold.bytes, issued_at(token), 'poison')
    return false
  end
  return true
end

-- The open claims of an owner, in the order they are taken back in: a page, and one more where there are more.
local function tokens_of(owner, is_newest_first)
  local token = string.match(owner, '^t:(.*)$')
  if token then
    return { token }
  end
  local prefix = owner .. '\t'
  local holds
  if is_newest_first then
    holds = redis.call('ZREVRANGEBYLEX', k_holds, '(' .. owner .. '\n', '[' .. prefix, 'LIMIT', 0, PAGE_MAX + 1)
  else
    holds = redis.call('ZRANGEBYLEX', k_holds, '[' .. prefix, '(' .. owner .. '\n', 'LIMIT', 0, PAGE_MAX + 1)
  end
  local tokens = {}
  for i = 1, #holds do
    tokens[i] = string.sub(holds[i], #prefix + 1)
  end
  return tokens
end

-- Up to `limit` jobs (at most a page) an owner holds, in claim order: the newest where they go to the front, so that
-- page after page they end up in the order they were claimed in. Second: whether these are all.
local function page_of(owner, limit)
  local is_newest_first = rule(REQUEUE) == 0
  local tokens = tokens_of(owner, is_newest_first)
  local pages, taken, looked_at, is_whole = {}, 0, 0, #tokens <= PAGE_MAX
  for i = 1, #tokens do
    -- Something is taken however far it is: a step that took nothing would be repeated for ever.
    if taken >= limit or (taken > 0 and looked_at >= LOOK_MAX) then
      is_whole = false
      break
    end
    local ids, size = still_held(tokens[i])
    looked_at = looked_at + size
    if taken + #ids > limit then
      local room, cut = limit - taken, {}
      local from = is_newest_first and #ids - room or 0
      for j = 1, room do
        cut[j] = ids[from + j]
      end
      ids, is_whole = cut, false
    end
    pages[#pages + 1] = ids
    taken = taken + #ids
  end
  local held_ids = {}
  local first, last, by = 1, #pages, 1
  if is_newest_first then
    first, last, by = #pages, 1, -1
  end
  for i = first, last, by do
    for j = 1, #pages[i] do
      held_ids[#held_ids + 1] = pages[i][j]
    end
  end
  return held_ids, is_whole
end

-- Takes back up to `limit` jobs of a lease; the lease ends when it holds nothing more.
local function take_back(owner, limit, is_expired)
  redis.call('ZADD', k_leases, 0, owner)
  is_changed = true
  local ids, is_whole = page_of(owner, limit)
  local jobs = load_held(ids)
  if is_expired then
    local survivors = {}
    for i = 1, #jobs do
      if survives_expiry(jobs[i]) then
        survivors[#survivors + 1] = jobs[i]
        if not is_asked_to_stop(jobs[i].id, jobs[i].hold.token) then
          f[TOTAL_RESCUED] = f[TOTAL_RESCUED] + 1
        end
      end
    end
    jobs = survivors
  end
  give_back(jobs)
  close_claims()
  if is_whole then
    redis.call('ZREM', k_leases, owner)
    redis.call('HDEL', k_owners, owner)
  end
  return #ids, is_whole
end

-- Takes back up to `limit` jobs from expired leases, the lease that ended first first: jobs, and leases that ended.
local function reap(limit)
  local jobs, leases = 0, 0
  while jobs + leases < limit do
    local owner = redis.call('ZRANGEBYSCORE', k_leases, '-inf', now, 'LIMIT', 0, 1)[1]
    if not owner then
      break
    end
    local taken, is_whole = take_back(owner, limit - jobs - leases, true)
    jobs = jobs + taken
    if not is_whole then
      break
    end
    leases = leases + 1
  end
  return jobs, leases
end
