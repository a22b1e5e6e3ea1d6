-- complete: completes jobs and, in the same call, optionally claims more.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap stale pick record_claim claim_fast fast_path waiters claim
-- flags: allow-oom
-- guards: lazy
-- args: number of claims; per claim its token and number of jobs; the ids (each once), claim by claim; number of results; per result the position of its id and its bytes; then the arguments of claim, optional
-- reply: statuses (completed, lease_lost, gone) separated by spaces, or a single `completed` for all; then the reply of claim, if requested
local claims = tonumber(ARGV[1])
local first, total = 2 + 2 * claims, 0
for i = 1, claims do
  total = total + tonumber(ARGV[2 * i + 1])
end
local last = first + total - 1
local results, results_end = {}, last + 1 + 2 * tonumber(ARGV[last + 1])
for at = last + 2, results_end, 2 do
  results[tonumber(ARGV[at])] = ARGV[at + 1]
end
local leases = total > 0 and redis.call('HMGET', k_running, unpack(ARGV, first, last)) or {}
local REPEATABLE = { completed = true }

-- Removes completed jobs that leave no record, `from` to `to` in a list of ids.
local function remove_fast(ids, from, to, bytes, has_opts)
  redis.call('HDEL', k_running, unpack(ids, from, to))
  redis.call('HDEL', k_jobs, unpack(ids, from, to))
  if has_opts then
    redis.call('HDEL', k_opts, unpack(ids, from, to))
  end
  if not is_fast and redis.call('HLEN', k_progress) > 0 then
    redis.call('HDEL', k_progress, unpack(ids, from, to))
  end
  local removed = to - from + 1
  stats[BYTES] = stats[BYTES] - bytes
  stats[TOTAL.succeeded] = stats[TOTAL.succeeded] + removed
  count(ENDED_MINUTE, removed)
  is_changed = true
end

-- Returns the payload length if the lease belongs to this token and its job leaves no record, and whether the job has
-- opts. Returns false otherwise.
local function fast_lease(lease, token)
  if string.find(lease, token, 1, true) ~= 1 then
    return false
  end
  local flag, bytes = string.match(lease, '^\t%d([' .. SIMPLE_OPTS .. NO_OPTS .. '])(%d+)', #token + 1)
  return tonumber(bytes) or false, flag == SIMPLE_OPTS
end

-- Whether no lease has opts that matter on completion.
local function are_leases_fast()
  local seen
  for i = 1, total do
    if leases[i] and leases[i] ~= seen then
      seen = leases[i]
      if string.find(seen, '^[^\t]+\t%d' .. OTHER_OPTS) then
        return false
      end
    end
  end
  return true
end

local function complete_one(id, token, text, result)
  local lease = text and decode_lease(text)
  if not lease or lease.token ~= token then
    return nil
  end
  local opts = load_reported_opts(id)
  leave_claim(id, token, 'completed')
  end_succeeded(id, opts, lease.bytes, issued_at(token), result)
  return 'completed'
end

-- Takes a job off its claim on the fast path.
local function leave_fast(id, open, stopping)
  if open then
    open.remaining = open.remaining - 1
    open.is_touched = true
    if stopping then
      redis.call('ZREM', k_stopping, open.owner .. '\t' .. id)
    end
  end
  if is_watched then
    announce(id, 'succeeded')
  end
end

-- Returns a status per job, or a single `completed` for all.
local function complete_all()
  local may_be_fast = rule(KEEP_SUCCEEDED) ~= KEEP_ALL
  local stopping = not is_fast and redis.call('ZCARD', k_stopping) > 0
  local fast, fast_bytes, has_opts = {}, 0, false
  local statuses, at, others = {}, 0, 0
  for i = 1, claims do
    local token, open = ARGV[2 * i], nil
    -- Most leases of a claim are the same text: parse each text once.
    local lengths = {}
    for _ = 1, tonumber(ARGV[2 * i + 1]) do
      at = at + 1
      local id, lease = ARGV[first + at - 1], leases[at]
      local bytes = lease and lengths[lease]
      if lease and bytes == nil then
        local is_opted
        bytes, is_opted = fast_lease(lease, token)
        has_opts = has_opts or is_opted
        lengths[lease] = bytes
      end
      if bytes and may_be_fast and not results[at] then
        open = open or open_claim(token)
        leave_fast(id, open, stopping)
        fast[#fast + 1] = id
        fast_bytes = fast_bytes + bytes
        statuses[at] = 'completed'
      else
        statuses[at] = complete_one(id, token, lease, results[at])
        others = others + 1
      end
    end
  end
  if #fast > 0 then
    remove_fast(fast, 1, #fast, fast_bytes, has_opts)
  end
  at = 0
  for i = 1, others > 0 and claims or 0 do
    for _ = 1, tonumber(ARGV[2 * i + 1]) do
      at = at + 1
      statuses[at] = statuses[at] or repeated_status(ARGV[first + at - 1], ARGV[2 * i], REPEATABLE)
    end
  end
  close_claims()
  prune_after_end()
  return others == 0 and 'completed' or table.concat(statuses, ' ')
end

local request = ARGV[results_end + 8] and read_request(results_end + 1)
local max = request and math.min(request.max, CLAIM_MAX) or 0
choose_path(not next(results) and not (request and request.mode == AT_MOST_ONCE) and are_leases_fast(), max)
local statuses = ''
if total > 0 then
  statuses = exists and complete_all() or string.rep('gone ', total)
end
if not request then
  commit()
  return { statuses }
end
local reply = exists and claim(request) or nothing_found()
commit()
table.insert(reply, 1, statuses)
return reply
