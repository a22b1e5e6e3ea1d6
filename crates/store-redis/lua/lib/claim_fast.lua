-- The short way of a claim: jobs that ask for nothing on their way, which are most, in whole pages.

-- What stands at the head of one lane, with the opts of each, and of all where they are the same; nothing when a job
-- there needs a closer look.
local function look_short(priority, most, has_opts)
  local ids = redis.call('LRANGE', k_ready[priority], 0, most - 1)
  if #ids == 0 then
    return { ids = ids, payloads = {}, same = '' }
  end
  local payloads = redis.call('HMGET', k_jobs, unpack(ids))
  local opts = has_opts and redis.call('HMGET', k_opts, unpack(ids)) or nil
  local same = opts and opts[1] or ''
  for i = 1, #ids do
    if not payloads[i] then
      return nil
    end
    if opts then
      local text = opts[i] or ''
      if text ~= '' and not is_mute(text) then
        return nil
      end
      same = text == same and same
    end
  end
  return { ids = ids, payloads = payloads, opts = same ~= '' and opts or nil, same = same }
end

-- What stands at the heads of the lanes, up to `max` jobs, where no entry is stale; nothing when a job needs a closer
-- look.
local function look_lanes(max, has_opts)
  local seen, lanes = 0, {}
  for priority = 0, 9 do
    if f[READY + priority] > 0 and seen < max then
      local lane = look_short(priority, max - seen, has_opts)
      if not lane then
        return nil
      end
      lane.priority = priority
      lanes[#lanes + 1] = lane
      seen = seen + #lane.ids
    end
  end
  return lanes
end

-- Takes what was looked at: how many jobs that are.
local function take_lanes(lanes)
  local taken = 0
  for i = 1, #lanes do
    local lane = lanes[i]
    redis.call('LTRIM', k_ready[lane.priority], #lane.ids, -1)
    f[BASE + lane.priority] = f[BASE + lane.priority] + #lane.ids
    f[READY + lane.priority] = f[READY + lane.priority] - #lane.ids
    taken = taken + #lane.ids
  end
  return taken
end

-- The holds of one lane, into `holds`. Most are the same text: written once for each length of payload.
local function hold_short(lane, token, tail, holds)
  local plain, opted = {}, {}
  local at = #holds
  for i = 1, #lane.ids do
    local length = #lane.payloads[i]
    local is_opted = lane.opts and lane.opts[i]
    local texts = is_opted and opted or plain
    local text = texts[length]
    if not text then
      text = token .. '\t' .. lane.priority .. (is_opted and 's' or '-') .. length .. tail
      texts[length] = text
    end
    holds[at + 1], holds[at + 2] = lane.ids[i], text
    at = at + 2
  end
end

-- All lanes as one.
local function joined(lanes)
  local all = { ids = {}, payloads = {}, opts = nil, same = lanes[1].same }
  for i = 1, #lanes do
    all.opts = all.opts or (lanes[i].opts and {})
    all.same = lanes[i].same == all.same and all.same
  end
  for i = 1, #lanes do
    local lane = lanes[i]
    for j = 1, #lane.ids do
      local at = #all.ids + 1
      all.ids[at], all.payloads[at] = lane.ids[j], lane.payloads[j]
      if all.opts then
        all.opts[at] = lane.opts and lane.opts[j] or ''
      end
    end
  end
  return all
end

-- Hands out jobs of the short way.
local function hand_out_short(request, lanes)
  local token = next_token(request)
  local owner = request.owner == '' and 't:' .. token or request.owner
  local tail, holds = tail_of(request), {}
  for i = 1, #lanes do
    hold_short(lanes[i], token, tail, holds)
  end
  local all = #lanes == 1 and lanes[1] or joined(lanes)
  local text, until_ms = record(request, owner, token, all.ids, holds, nil)
  if all.same == '' then
    return { token, until_ms, 0, f[PARTITIONS], text, 1, unpack(all.payloads) }
  elseif all.same then
    return { token, until_ms, 0, f[PARTITIONS], text, 3, all.same, unpack(all.payloads) }
  end
  local reply = { token, until_ms, 0, f[PARTITIONS], text, 2 }
  for i = 1, #all.ids do
    reply[2 * i + 5], reply[2 * i + 6] = all.payloads[i], all.opts[i] or ''
  end
  return reply
end
