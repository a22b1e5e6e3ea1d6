-- audit/running: checks that every running job exists and is listed in an open claim.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit lease tombstone finish audit/report audit/validate audit/opts audit/job audit/group audit/claim
-- flags: allow-oom
-- args: cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local COUNT = 100

-- Removes the lease of a job. A job without another state is requeued, or cancelled if that was requested.
local function remove_lease(id, lease)
  local record = lease.token and claim_record(lease.token)
  local stopping = record and record.owner .. '\t' .. id
  local is_stopped = stopping and redis.call('ZREM', k_stopping, stopping) == 1
  redis.call('HDEL', k_running, id)
  redis.call('HDEL', k_progress, id)
  if record and string.find(record.text, '\n' .. id .. '\n', 1, true) then
    record_lost(id, lease.token)
  end
  is_changed = true
  if state_of(id) ~= 'ready' then
    return
  end
  local opts = repaired_opts(id)
  if opts[GROUP] then
    group_lib.start_groups()
    group_lib.leave_run(id, opts)
  end
  if is_stopped then
    end_cancelled(id, opts, payload_length(id), issued_at(lease.token))
  elseif not (is_suspect(opts) and redis.call('ZSCORE', k_suspects, id)) then
    add_to_lane(id, opts, rule(REQUEUE) == REQUEUE_FRONT)
  end
end

-- Adds a job to the record of its claim, which is how expired jobs are found.
local function list_in_claim(id, token, open)
  local record = claim_record(token)
  if record and string.find(record.text, '\n' .. id .. '\n', 1, true) and record.owner == open.owner then
    return
  end
  local list = record and string.match(record.text, '^[^\n]*\n(.*)$') or ''
  if not string.find('\n' .. list, '\n' .. id .. '\n', 1, true) then
    list = list .. id .. '\n'
  end
  local _, size = string.gsub(list, '\n', '')
  redis.call('HSET', k_claims, token, digits(open.seq) .. '\t' .. size .. '\t' .. open.owner .. '\n' .. list)
  report('claim_unrecorded', id, token)
end

-- The fields of the lease must match the job: `complete` uses them without checking.
local function check_fields(id, lease)
  local opts = repaired_opts(id)
  local bytes = payload_length(id)
  local flag = is_inline(opts) and VALUE_ONLY or MORE
  -- The flag may overstate what the opts contain, never understate it.
  local is_enough = lease.flag ~= VALUE_ONLY or flag == VALUE_ONLY
  -- The full scripts find the group of a job whose lease does not have one.
  local group = uses_groups and ' ' .. (opts[GROUP] or '') or ''
  local is_right = lease.bytes == bytes and lease.priority == tonumber(opts[PRIORITY] or PRIORITY_DEFAULT) and is_enough
    and (lease.group == '' or lease.group == group)
  if not is_right then
    lease.group, lease.bytes, lease.priority, lease.flag = group, bytes, tonumber(opts[PRIORITY] or PRIORITY_DEFAULT), flag
    redis.call('HSET', k_running, id, encode_lease(lease))
    report('lease_wrong', id)
  end
  if opts[GROUP] then
    group_lib.restore_slot(id, opts)
  end
end

local function is_valid_lease(lease, text)
  local is_accepted = lease.accepted == '' or lease.accepted == NOT_ACCEPTED or is_number(lease.accepted)
  local is_group = lease.group == '' or string.byte(lease.group) == SPACE and (lease.group == ' ' or is_name(lease.group))
  return is_group and is_token(lease.token) and lease.priority and is_accepted and (lease.worker == '' or is_name(lease.worker))
    and encode_lease(lease) == text
end

local function check(id, text)
  local lease = decode_lease(text)
  if not has_job(id) or not is_name(id) then
    redis.call('HDEL', k_running, id)
    redis.call('HDEL', k_progress, id)
    report('without_job', id, 'running')
    return
  end
  if not is_valid_lease(lease, text) then
    lease.token = nil
    remove_lease(id, lease)
    report('lease_unreadable', id)
    return
  end
  local open = valid_open_claim(lease.token)
  if not open then
    remove_lease(id, lease)
    report('running_without_lease', id)
    return
  end
  if redis.call('ZSCORE', k_tokens, lease.token) ~= 'inf' then
    -- Otherwise the next prune would drop the record of an open claim.
    redis.call('ZADD', k_tokens, '+inf', lease.token)
    report('token_wrong', nil, lease.token)
  end
  list_in_claim(id, lease.token, open)
  check_fields(id, lease)
end

local next_at = scan_page(k_running, 'anchored', ARGV[1], COUNT, check)
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
