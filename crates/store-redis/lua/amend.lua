-- amend: enqueues jobs of which some replace or postpone a waiting job that has their id or unique key.
-- keys: state jobs opts errors ready suspects ghosts scheduled expiring unique running final tombstones forgetting leases owners lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting tombstone enqueue store_jobs
-- flags:
-- guards: lazy
-- args: as in enqueue.lua. A spec may have ON_DUPLICATE (REPLACE, POSTPONE or both), POSTPONE_MAX (ms) and ONLY_EXISTING
-- reply: as in enqueue.lua; or per job `REPLACED STATE SPACE ID` or `POSTPONED STATE SPACE ID` of the changed job, or NOT_FOUND if there is no job for ONLY_EXISTING
local KEPT = { CUSTOM_ID, ENQUEUED_AT, DUE_AT, UNIQUE_KEY, UNTIL_START, UNIQUE_FOR, KEEP_OUTCOME, GENERATION, IN_LINE, IS_SCHEDULED }
local REPLACEABLE = { PRIORITY, GROUP, KIND, RETRY_POLICY, TIMEOUT, HEADERS, IS_JSON }
local amendments, forget_at = {}, {} -- names and values, scores and names of tombstones

-- A key of the wrong type must fail the call before anything is written.
local has_errors = redis.call('HLEN', k_errors) > 0
redis.call('HLEN', k_ghosts)
redis.call('ZCARD', k_suspects)

-- The new due time of a job, if the call postpones it.
local function postponed_to(id, state, opts, spec)
  if not string.find(spec[ON_DUPLICATE], POSTPONE, 1, true) then
    return nil
  end
  local due, due_before = spec[DUE_AT] and resolve(spec[DUE_AT]) or now, nil
  if spec[POSTPONE_MAX] then
    due = math.min(due, enqueued_at(id, opts) + tonumber(spec[POSTPONE_MAX]))
  end
  if state == 'scheduled' then
    due_before = redis.call('ZSCORE', k_scheduled, id)
  end
  due_before = tonumber(due_before or opts[DUE_AT]) or enqueued_at(id, opts)
  return due > math.max(due_before, now) and due or nil
end

-- The opts of a job with the content of a spec.
local function replaced_opts(opts, spec)
  local new = { header = '' }
  for i = 1, #KEPT do
    new[KEPT[i]] = opts[KEPT[i]]
  end
  for i = 1, #REPLACEABLE do
    new[REPLACEABLE[i]] = spec[REPLACEABLE[i]]
  end
  new[EXPIRES_AT] = spec[EXPIRES_AT] and digits(resolve(spec[EXPIRES_AT]))
  new[DEADLINE] = spec[DEADLINE] and digits(resolve(spec[DEADLINE]))
  return new
end

-- Replaces the payload and drops the error.
local function replace_value(id, value, before)
  -- The value of a job with a key has no opts.
  local length = before[UNIQUE_KEY] and redis.call('HSTRLEN', k_jobs, id) - 1 or payload_length(id)
  stats[BYTES] = stats[BYTES] + #value - 1 - length
  if has_errors then
    stats[BYTES] = stats[BYTES] - redis.call('HSTRLEN', k_errors, id)
    redis.call('HDEL', k_errors, id)
  end
  redis.call('HSET', k_jobs, id, value)
end

-- Whether a ready job with these opts has another lane than before.
local function is_other_lane(opts, before)
  if opts[GROUP] ~= before[GROUP] then
    return true
  elseif opts[GROUP] and rule(GROUP_SLOT) ~= SLOT_RUN then
    return false
  end
  return opts[PRIORITY] ~= before[PRIORITY] or is_suspect(opts) ~= is_suspect(before)
end

-- Saves the opts of a job that stays where it is.
local function save_in_place(id, state, opts, before)
  index_expiry(id, opts)
  if state ~= 'ready' or before.header then
    save_opts(id, opts)
  else
    -- Its entry says that it has opts.
    redis.call('HSET', k_opts, id, encode_opts(opts))
  end
  is_changed = true
end

-- Changes a waiting job, as a call with the id `call_id` asks for. Returns nil if there is nothing to change.
amend = function(call_id, id, state, spec, value)
  if state == 'running' or KEEP[state] then
    return nil
  end
  -- It may be one of them, and those before it must stay before it.
  store_jobs()
  local before = load_opts(id)
  local due = postponed_to(id, state, before, spec)
  local replaces = string.find(spec[ON_DUPLICATE], REPLACE, 1, true)
  if not due and not replaces then
    return nil
  end
  local opts = replaces and replaced_opts(before, spec) or before
  opts[KEEP_OUTCOME] = spec[KEEP_OUTCOME] or before[KEEP_OUTCOME]
  local moves = state == 'ready' and (due or is_other_lane(opts, before))
  if replaces then
    -- The entry in the list stays: it may not tell the fast scripts that the job has opts, so the value must.
    local needs_care = state == 'ready' and not moves and not opts[GROUP] and not (before.header and is_inline(opts))
    replace_value(id, needs_care and string.char(NEEDS_CARE) .. string.sub(value, 2) or value, before)
  end
  if before[GROUP] and opts[GROUP] ~= before[GROUP] then
    group_lib.leave_slot(id, before)
  end
  if moves then
    remove_waiting(id, before, state)
  elseif before[EXPIRES_AT] and not opts[EXPIRES_AT] then
    redis.call('ZREM', k_expiring, id)
  end
  if due and state ~= 'pending' then
    add_scheduled(id, opts, due)
    save_opts(id, opts)
    state = 'scheduled'
  elseif moves then
    add_ready(id, opts, false)
    save_opts(id, opts)
  else
    opts[DUE_AT] = due and digits(due) or opts[DUE_AT]
    if state == 'ready' and opts[GROUP] then
      group_lib.change_in_line(id, opts, before)
    end
    save_in_place(id, state, opts, before)
  end
  local code = replaces and REPLACED or POSTPONED
  if call_id ~= id then
    local until_ms = now + AMENDMENT_TOMBSTONE
    amendments[#amendments + 1], forget_at[#forget_at + 1] = call_id, until_ms
    amendments[#amendments + 1], forget_at[#forget_at + 1] = state .. ' ' .. digits(until_ms) .. ' ' .. code .. id, call_id
  end
  return code .. state .. ' ' .. id
end

-- Remembers the amendments, within their bound without maintenance.
return enqueue_all(function()
  if #amendments > 0 then
    redis.call('HSET', k_tombstones, unpack(amendments))
    redis.call('ZADD', k_forgetting, unpack(forget_at))
    need_full(now + AMENDMENT_TOMBSTONE)
    prune_tombstones(#amendments)
  end
end)
