-- claim: promote what is due, reap what expired, then take over the priorities in turn.

-- Reads a request from eight arguments: owner (a boot's, or empty), seq, nonce, max, lease, mode, worker, sleeper.
local function read_request(at)
  return {
    owner = ARGV[at],
    seq = tonumber(ARGV[at + 1]),
    nonce = ARGV[at + 2],
    max = tonumber(ARGV[at + 3]),
    lease = tonumber(ARGV[at + 4]),
    mode = ARGV[at + 5],
    worker = ARGV[at + 6],
    sleeper = ARGV[at + 7],
  }
end

local function nothing(seen)
  return { '', 0, seen and seen.again or 0, f[PARTITIONS] }
end

-- A claim that this boot has made before: the latest again, earlier ones not at all. Nothing when it is a new one.
local function repeated(request)
  if request.owner == '' then
    return nil
  end
  local record = redis.call('HGET', k_owners, request.owner)
  local seq, token = string.match(record or '', '^%d+\t(%d+)\t([^\t]+)')
  if not seq or request.seq > tonumber(seq) then
    return nil
  end
  if request.seq < tonumber(seq) then
    return nothing()
  end
  local ids = still_held(token)
  local until_ms = #ids > 0 and extend(request.owner, request.lease)
  if not until_ms then
    return nothing()
  end
  local reply = { token, until_ms, 0, f[PARTITIONS], table.concat(ids, '\n') .. '\n', 2 }
  local payloads = redis.call('HMGET', k_jobs, unpack(ids))
  local opts = redis.call('HMGET', k_opts, unpack(ids))
  for i = 1, #ids do
    reply[2 * i + 5], reply[2 * i + 6] = payloads[i] or '', opts[i] or ''
  end
  return reply
end

-- Puts jobs under a token and its owner's lease.
local function hold_all(request, token, taken)
  local owner = request.owner == '' and 't:' .. token or request.owner
  local tail = tail_of(request)
  local holds, ids, suspect = {}, {}, nil
  for i = 1, #taken do
    local job = taken[i]
    ids[i] = job.id
    holds[2 * i - 1] = job.id
    holds[2 * i] = token .. '\t' .. job.priority .. (job.opts and (is_mute(job.opts) and 's' or 'o') or '-') .. #job.payload .. tail
    if job.is_suspect then
      suspect = job.id
    end
  end
  return record(request, owner, token, ids, holds, suspect)
end

local function finish_all(request, token, taken)
  local ids = {}
  for i = 1, #taken do
    local job = taken[i]
    ids[i] = job.id
    succeed(job.id, read_opts(job.opts), #job.payload, issued_at(token), nil)
  end
  if request.owner ~= '' then
    -- Remembered without its jobs: a repeat of the call must not finish further ones.
    lease_to(request, request.owner, token, nil)
  end
  return table.concat(ids, '\n') .. '\n', now
end

local function hand_out(request, taken)
  local token = next_token(request)
  local expiring = {}
  for i = 1, #taken do
    if is_watched then
      announce(taken[i].id, 'running')
    end
    if taken[i].opts and string.find('\n' .. taken[i].opts, '\ne', 1, true) then
      expiring[#expiring + 1] = taken[i].id
    end
  end
  if #expiring > 0 then
    redis.call('ZREM', k_expiring, unpack(expiring))
  end
  local ids, until_ms
  if request.mode == 'm' then
    ids, until_ms = finish_all(request, token, taken)
  else
    ids, until_ms = hold_all(request, token, taken)
  end
  local reply = { token, until_ms, 0, f[PARTITIONS], ids, 2 }
  for i = 1, #taken do
    reply[2 * i + 5], reply[2 * i + 6] = taken[i].payload, taken[i].opts or ''
  end
  return reply
end

-- A paused queue hands out nothing, nor does one that is still taking back this boot's jobs.
local function may_claim(request)
  if f[PAUSED] > 0 then
    return false
  end
  local ends = request.owner ~= '' and redis.call('ZSCORE', k_leases, request.owner)
  return not (ends and tonumber(ends) == 0)
end

-- Nothing when there is nothing to hand out.
local function take_and_hand_out(request)
  local lanes = looked
  if lanes == nil and (is_quiet or (f[GHOSTS] == 0 and not has_suspects() and not is_watched and request.mode ~= 'm')) then
    lanes = look_lanes(math.min(request.max, CLAIM_MAX), not is_quiet and redis.call('HLEN', k_opts) > 1)
  end
  if lanes then
    return take_lanes(lanes) > 0 and hand_out_short(request, lanes) or nil
  end
  local seen = { passed = 0, looked_at = 0 }
  local taken = take(request, seen)
  if #taken == 0 then
    return nothing(seen)
  end
  -- Nobody must be woken for the jobs that this claim itself takes.
  work = math.max(0, work - #taken)
  return hand_out(request, taken)
end

local function claim(request)
  local again = repeated(request)
  if again then
    return again
  end
  if not is_quiet then
    promote_due(PAGE)
    reap(PAGE)
  end
  local reply = may_claim(request) and take_and_hand_out(request)
  if not reply then
    reply = nothing()
  end
  if reply[1] == '' and reply[3] == 0 and request.sleeper ~= '' then
    reply = lie_down(request, reply)
  end
  if is_quiet then
    prune_claims(PAGE)
  else
    prune(PAGE)
  end
  return reply
end
