-- audit/running: every running job exists, and an open claim that lists it stands behind it.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish audit/report audit/validate audit/opts audit/job audit/claim
-- flags: allow-oom
-- args: cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local COUNT = 100

-- Takes a hold away from a job; what is in no other place goes back into its lane, or ends where it was asked to.
local function take_away(id, hold)
  local record = hold.token and record_of(hold.token)
  local stopping = record and record.owner .. '\t' .. id
  local is_stopped = stopping and redis.call('ZREM', k_stopping, stopping) == 1
  redis.call('HDEL', k_running, id)
  redis.call('HDEL', k_progress, id)
  if record and string.find(record.text, '\n' .. id .. '\n', 1, true) then
    note_lost(id, hold.token)
  end
  is_changed = true
  if state_of(id) ~= 'ready' then
    return
  end
  local o = mended_opts(id)
  if is_stopped then
    end_cancelled(id, o, redis.call('HSTRLEN', k_jobs, id), issued_at(hold.token))
  elseif not (is_suspect(o) and redis.call('ZSCORE', k_suspects, id)) then
    put_in_lane(id, o, rule(REQUEUE) == 0)
  end
end

-- Writes a job into the record of its claim, which must list it: what expires is found there.
local function list_in_claim(id, token, open)
  local record = record_of(token)
  if record and string.find(record.text, '\n' .. id .. '\n', 1, true) and record.owner == open.owner then
    return
  end
  local list = record and string.match(record.text, '^[^\n]*\n(.*)$') or ''
  if not string.find('\n' .. list, '\n' .. id .. '\n', 1, true) then
    list = list .. id .. '\n'
  end
  local _, size = string.gsub(list, '\n', '')
  redis.call('HSET', k_claims, token, whole(open.seq) .. '\t' .. size .. '\t' .. open.owner .. '\n' .. list)
  report('claim_unrecorded', id, token)
end

-- What the hold says of the job must be so: it is believed when the job ends.
local function check_facts(id, hold)
  local o = mended_opts(id)
  local bytes = redis.call('HSTRLEN', k_jobs, id)
  local flag = next(o) == nil and '-' or is_mute(opts_text(o)) and 's' or 'o'
  -- A hold may say that there is more to look at than there is, never less.
  local is_enough = hold.flag == 'o' or hold.flag == flag or flag == '-'
  local is_right = hold.bytes == bytes and hold.priority == tonumber(o.p or 5) and is_enough
  if not is_right then
    hold.bytes, hold.priority, hold.flag = bytes, tonumber(o.p or 5), flag
    redis.call('HSET', k_running, id, hold_text(hold))
    report('hold_wrong', id)
  end
end

local function is_sound_hold(hold, text)
  local is_accepted = hold.accepted == '' or hold.accepted == 'd' or is_number(hold.accepted)
  return is_token(hold.token) and hold.priority and is_accepted and (hold.worker == '' or is_name(hold.worker))
    and hold_text(hold) == text
end

local function meet(id, text)
  local hold = read_hold(text)
  if not has_job(id) or not is_name(id) then
    redis.call('HDEL', k_running, id)
    redis.call('HDEL', k_progress, id)
    report('without_job', id, 'running')
    return
  end
  if not is_sound_hold(hold, text) then
    hold.token = nil
    take_away(id, hold)
    report('hold_unreadable', id)
    return
  end
  local open = sound_open(hold.token)
  if not open then
    take_away(id, hold)
    report('running_without_lease', id)
    return
  end
  if redis.call('ZSCORE', k_tokens, hold.token) ~= 'inf' then
    -- Else the next step that prunes would drop the record of a claim that is open.
    redis.call('ZADD', k_tokens, '+inf', hold.token)
    report('token_wrong', nil, hold.token)
  end
  list_in_claim(id, hold.token, open)
  check_facts(id, hold)
end

local next_at = scan_page(k_running, 'anchored', ARGV[1], COUNT, meet)
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
