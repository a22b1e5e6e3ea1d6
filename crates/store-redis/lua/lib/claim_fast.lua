-- The fast path of a claim: jobs without special options, which most are, in whole pages.

-- Reads the head of one lane: ids, payloads, opts per job, and the opts that all of them share. Returns nil if a job
-- needs the full path.
local function read_lane(priority, most, has_opts)
  local ids = redis.call('LRANGE', k_ready[priority], 0, most - 1)
  if #ids == 0 then
    return { ids = ids, payloads = {}, shared = '' }
  end
  local payloads = redis.call('HMGET', k_jobs, unpack(ids))
  local encoded_opts = has_opts and redis.call('HMGET', k_opts, unpack(ids)) or nil
  local shared = encoded_opts and encoded_opts[1] or ''
  for i = 1, #ids do
    if not payloads[i] then
      return nil
    end
    if encoded_opts then
      local text = encoded_opts[i] or ''
      if text ~= '' and not is_simple(text) then
        return nil
      end
      shared = text == shared and shared
    end
  end
  return { ids = ids, payloads = payloads, encoded_opts = shared ~= '' and encoded_opts or nil, shared = shared }
end

-- Cuts a lane before the job with which a claim, that has `jobs` jobs and `bytes` of payload so far, holds too much.
-- Returns its bytes.
local function cut_lane(lane, jobs, bytes)
  for i = 1, #lane.ids do
    bytes = bytes + #lane.payloads[i]
    if bytes > CLAIM_BYTES_MAX and jobs + i > 1 then
      lane.is_cut = true
      for j = #lane.ids, i, -1 do
        lane.ids[j], lane.payloads[j] = nil, nil
      end
      break
    end
  end
  return bytes
end

-- Reads the heads of the lanes, up to `max` jobs and CLAIM_BYTES_MAX of payload. No entry may be stale. Returns nil if a job
-- needs the full path.
local function read_lanes(max, has_opts)
  local seen, bytes, lanes = 0, 0, {}
  for priority = 0, PRIORITY_LAST do
    if stats[READY + priority] > 0 and seen < max then
      local lane = read_lane(priority, max - seen, has_opts)
      if not lane then
        return nil
      end
      bytes = cut_lane(lane, seen, bytes)
      lane.priority = priority
      lanes[#lanes + 1] = lane
      seen = lane.is_cut and max or seen + #lane.ids
    end
  end
  return lanes
end

-- Removes what was read from the lanes. Returns the number of jobs.
local function pop_lanes(lanes)
  local taken = 0
  for i = 1, #lanes do
    local lane = lanes[i]
    redis.call('LTRIM', k_ready[lane.priority], #lane.ids, -1)
    stats[LIST_BASE + lane.priority] = stats[LIST_BASE + lane.priority] + #lane.ids
    stats[READY + lane.priority] = stats[READY + lane.priority] - #lane.ids
    taken = taken + #lane.ids
  end
  return taken
end

-- Appends the leases of one lane to `leases`. Most are the same text: built once per payload length.
local function lease_lane(lane, token, suffix, leases)
  local without_opts, with_opts = {}, {}
  local at = #leases
  for i = 1, #lane.ids do
    local length = #lane.payloads[i]
    local is_opted = lane.encoded_opts and lane.encoded_opts[i]
    local texts = is_opted and with_opts or without_opts
    local text = texts[length]
    if not text then
      text = token .. '\t' .. lane.priority .. (is_opted and SIMPLE_OPTS or NO_OPTS) .. length .. suffix
      texts[length] = text
    end
    leases[at + 1], leases[at + 2] = lane.ids[i], text
    at = at + 2
  end
end

-- Joins several lanes into one.
local function join_lanes(lanes)
  local all = { ids = {}, payloads = {}, encoded_opts = nil, shared = lanes[1].shared }
  for i = 1, #lanes do
    all.encoded_opts = all.encoded_opts or (lanes[i].encoded_opts and {})
    all.shared = lanes[i].shared == all.shared and all.shared
  end
  for i = 1, #lanes do
    local lane = lanes[i]
    for j = 1, #lane.ids do
      local at = #all.ids + 1
      all.ids[at], all.payloads[at] = lane.ids[j], lane.payloads[j]
      if all.encoded_opts then
        all.encoded_opts[at] = lane.encoded_opts and lane.encoded_opts[j] or ''
      end
    end
  end
  return all
end

-- Hands out jobs on the fast path.
local function hand_out_fast(request, lanes)
  local token = next_token(request)
  local owner = request.owner == '' and TOKEN_OWNER .. token or request.owner
  local suffix, leases = lease_suffix(request), {}
  for i = 1, #lanes do
    lease_lane(lanes[i], token, suffix, leases)
  end
  local all = #lanes == 1 and lanes[1] or join_lanes(lanes)
  local text, until_ms = record_claim(request, owner, token, all.ids, leases, nil)
  if all.shared == '' then
    return { token, until_ms, NOTHING_FOUND, stats[PARTITIONS], text, PAYLOADS_ONLY, unpack(all.payloads) }
  elseif all.shared then
    return { token, until_ms, NOTHING_FOUND, stats[PARTITIONS], text, SHARED_OPTS, all.shared, unpack(all.payloads) }
  end
  local reply = { token, until_ms, NOTHING_FOUND, stats[PARTITIONS], text, PAYLOADS_AND_OPTS }
  for i = 1, #all.ids do
    reply[2 * i + CLAIM_PAYLOADS], reply[2 * i + CLAIM_OPTS] = all.payloads[i], all.encoded_opts[i] or ''
  end
  return reply
end
