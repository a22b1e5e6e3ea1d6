-- claim: fires due schedules, promotes due jobs, reaps expired leases, then picks jobs by priority; at last decides about the fast scripts.
local read_request, nothing_found, claim
do -- a script may have 200 locals at a time
  -- Reads a request from the eight arguments of claim.lua, starting at `at`.
  read_request = function(at)
    return {
      owner = ARGV[at],
      seq = tonumber(ARGV[at + 1]),
      nonce = ARGV[at + 2],
      max = tonumber(ARGV[at + 3]),
      lease_ms = tonumber(ARGV[at + 4]),
      mode = ARGV[at + 5],
      worker = ARGV[at + 6],
      waiter = ARGV[at + 7],
    }
  end

  nothing_found = function(seen)
    return { '', 0, seen and seen.again or NOTHING_FOUND, stats[PARTITIONS] }
  end

  -- The reply to a repeated claim of a boot: the latest one again, nothing for earlier ones. Returns nil for a new claim.
  local function repeated_claim(request)
    if request.owner == '' then
      return nil
    end
    local record = redis.call('HGET', k_owners, request.owner)
    local seq, token = string.match(record or '', '^%d+\t(%d+)\t([^\t]+)')
    if not seq or request.seq > tonumber(seq) then
      return nil
    end
    if request.seq < tonumber(seq) then
      return nothing_found()
    end
    local ids = leased_ids(token)
    local until_ms = #ids > 0 and extend(request.owner, request.lease_ms)
    if not until_ms then
      return nothing_found()
    end
    local reply = { token, until_ms, NOTHING_FOUND, stats[PARTITIONS], table.concat(ids, '\n') .. '\n', VALUES_AND_OPTS }
    local values = redis.call('HMGET', k_jobs, unpack(ids))
    local encoded_opts = redis.call('HMGET', k_opts, unpack(ids))
    for i = 1, #ids do
      reply[2 * i + CLAIM_VALUES], reply[2 * i + CLAIM_OPTS] = values[i] or '\n', encoded_opts[i] or ''
    end
    return reply
  end

  -- Leases jobs to a token and its owner.
  local function lease_all(request, token, taken)
    local owner = request.owner == '' and TOKEN_OWNER .. token or request.owner
    local suffix = lease_suffix(request)
    local leases, ids, suspect = {}, {}, nil
    for i = 1, #taken do
      local job = taken[i]
      ids[i] = job.id
      leases[2 * i - 1] = job.id
      leases[2 * i] = token .. '\t' .. job.priority .. (job.encoded_opts and MORE or VALUE_ONLY) .. job.bytes
        .. (uses_groups and ' ' .. (job.group or '') or '') .. suffix
      if job.is_suspect then
        suspect = job.id
      end
    end
    return record_claim(request, owner, token, ids, leases, suspect)
  end

  local function finish_all(request, token, taken)
    local ids = {}
    for i = 1, #taken do
      local job = taken[i]
      ids[i] = job.id
      end_succeeded(job.id, decode_opts(job.encoded_opts), job.bytes, issued_at(token), nil)
    end
    if request.owner ~= '' then
      -- Recorded without its jobs: a repeat of the call must not finish more of them.
      put_under_lease(request, request.owner, token, nil)
    end
    return table.concat(ids, '\n') .. '\n', now
  end

  -- Frees the key of a job that holds it only until it starts. The job then has no key.
  local function free_at_start(job)
    local opts = decode_opts(job.encoded_opts)
    if redis.call('HGET', k_unique, opts[UNIQUE_KEY] or '') == job.id then
      redis.call('HDEL', k_unique, opts[UNIQUE_KEY])
    end
    opts[UNIQUE_KEY], opts[UNTIL_START] = nil, nil
    job.encoded_opts = encode_opts(opts)
    redis.call('HSET', k_opts, job.id, job.encoded_opts)
  end

  local function hand_out(request, taken)
    local token = next_token(request)
    count_claimed(#taken)
    local expiring = {}
    for i = 1, #taken do
      if is_watched then
        announce(taken[i].id, 'running')
      end
      local text = taken[i].encoded_opts and '\n' .. taken[i].encoded_opts
      if text and string.find(text, '\n' .. EXPIRES_AT, 1, true) then
        expiring[#expiring + 1] = taken[i].id
      end
      if text and string.find(text, '\n' .. UNTIL_START .. '\n', 1, true) then
        free_at_start(taken[i])
      end
    end
    if #expiring > 0 then
      redis.call('ZREM', k_expiring, unpack(expiring))
    end
    local ids, until_ms
    if request.mode == AT_MOST_ONCE then
      ids, until_ms = finish_all(request, token, taken)
    else
      ids, until_ms = lease_all(request, token, taken)
    end
    local reply = { token, until_ms, NOTHING_FOUND, stats[PARTITIONS], ids, VALUES_AND_OPTS }
    for i = 1, #taken do
      reply[2 * i + CLAIM_VALUES], reply[2 * i + CLAIM_OPTS] = taken[i].value, taken[i].encoded_opts or ''
    end
    return reply
  end

  -- Promotes and reaps a page. Returns whether some jobs of a lease are back and others not yet: nothing is handed out
  -- meanwhile, since the newest ones come back first.
  local function promote_and_reap()
    promote_due(PAGE)
    local jobs, leases = reap(PAGE)
    return jobs + leases > 0 and redis.call('ZRANGEBYSCORE', k_leases, '-inf', 0, 'LIMIT', 0, 1)[1] ~= nil
  end

  -- Returns nil if there is nothing to hand out.
  local function pick_and_hand_out(request)
    if is_limited() or rest_until > now then
      request.max = math.min(request.max, free_slots(), allowed_by_rate())
      if request.max == 0 then
        return nothing_found()
      end
    end
    local seen = { skipped = 0, scanned = 0, stale = 0, bytes = 0, stale_room = STALE_SCAN_MAX }
    local taken = pick(request, seen)
    request.first = taken[1]
    if #taken == 0 then
      return nothing_found(seen)
    end
    -- Do not wake waiters for the jobs that this claim takes.
    work = math.max(0, work - #taken)
    return hand_out(request, taken)
  end

  -- When what is kept of a state is due to be pruned.
  local function prune_time(key, age)
    return rule(age) >= 0 and earliest(key, rule(age)) or NEVER
  end

  -- Lets the fast scripts work until something is due that they do not know, unless there is already. The next sample of
  -- the history is due in the next second.
  local function allow_fast()
    if stats[PAUSED] == 1 or stats[STALE_ENTRIES] > 0 or stats[SHORTEN_FROM] > 0 or rule(KEEP_SUCCEEDED) == KEEP_ALL
      or rest_until > now or has_suspects() or redis.call('HEXISTS', k_state, AUDIT_FIELD) == 1 then
      return
    end
    local from = math.min(now - now % 1000 + 1000, earliest_firing(), earliest(k_scheduled, 0), earliest(k_leases, 0), earliest(k_forgetting, 0),
      prune_time(k_succeeded, SUCCEEDED_AGE), prune_time(k_dead, DEAD_AGE), prune_time(k_cancelled, CANCELLED_AGE))
    stats[FULL_FROM] = is_limited() and -from or from
    is_dirty = true
  end

  claim = function(request)
    local again = repeated_claim(request)
    if again then
      return again
    end
    -- Read before anything is written: the key may have another type.
    local wakeups = request.waiter ~= '' and redis.call('LLEN', k_wake)
    fire_due(PAGE)
    local reply
    if promote_and_reap() then
      reply = nothing_found({ again = CLAIM_AGAIN })
    else
      reply = stats[PAUSED] == 0 and pick_and_hand_out(request) or nothing_found()
    end
    local is_over = reply[CLAIM_TOKEN] ~= '' or reply[CLAIM_NEXT] ~= CLAIM_AGAIN
    if request.waiter ~= '' and reply[CLAIM_TOKEN] ~= '' then
      reply = leave_wakeup(reply, wakeups)
    elseif request.waiter ~= '' and reply[CLAIM_NEXT] == NOTHING_FOUND then
      reply = register_waiter(request, reply)
    end
    local _, _, is_partial = prune(PAGE)
    local is_sampled = is_over and history_lib.sample(request.first)
    if is_sampled and math.abs(stats[FULL_FROM]) <= now and not is_partial then
      allow_fast()
    end
    return reply
  end
end
