-- audit/jobs: checks that every job is in exactly one state and that its indexes agree with it.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit lease tombstone finish audit/report audit/validate audit/opts audit/job audit/group audit/state audit/rename
-- flags: allow-oom
-- args: cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local ids, seen = {}, nil

-- Loads what each key stores for the jobs of this page.
local function load_page()
  seen = {
    running = redis.call('HMGET', k_running, unpack(ids)),
    final = redis.call('HMGET', k_final, unpack(ids)),
    encoded_opts = redis.call('HMGET', k_opts, unpack(ids)),
    scheduled = redis.call('ZMSCORE', k_scheduled, unpack(ids)),
    suspects = redis.call('ZMSCORE', k_suspects, unpack(ids)),
    expiring = redis.call('ZMSCORE', k_expiring, unpack(ids)),
    succeeded = redis.call('ZMSCORE', k_succeeded, unpack(ids)),
    dead = redis.call('ZMSCORE', k_dead, unpack(ids)),
    cancelled = redis.call('ZMSCORE', k_cancelled, unpack(ids)),
    are_ends_lost = redis.call('HEXISTS', k_state, ENDS_LOST_FIELD) == 1,
  }
end

-- Only a scheduled or pending job may be in `scheduled`.
local function check_due(id, state, due)
  if due and state ~= 'scheduled' and state ~= 'pending' then
    redis.call('ZREM', k_scheduled, id)
    report('in_two_states', id, 'scheduled and ' .. state)
  elseif state == 'scheduled' and not is_time(due) then
    redis.call('ZADD', k_scheduled, now, id)
    report('value_unreadable', id, 'scheduled')
  end
end

-- A ready suspect must be among the suspects of its priority; no other job may be.
local function check_suspect(id, state, opts, score)
  local priority = tonumber(opts[PRIORITY] or PRIORITY_DEFAULT)
  if state ~= 'ready' or not is_suspect(opts) or opts[GROUP] then
    if score then
      redis.call('ZREM', k_suspects, id)
      report('in_two_states', id, 'suspects and ' .. state)
    end
  elseif not score then
    -- The stats counted it as ready before.
    add_to_lane(id, opts)
    stats[READY + priority] = stats[READY + priority] - 1
    report('not_listed', id)
  else
    local lane = math.floor(tonumber(score) / SUSPECT_LANE)
    if lane ~= priority then
      redis.call('ZREM', k_suspects, id)
      add_to_lane(id, opts)
      stats[READY + priority] = stats[READY + priority] - 1
      report('entry_wrong', id, 'suspects of priority ' .. digits(lane))
    end
  end
end

local function check_expiry(id, state, opts, score)
  local expiry = not KEEP[state] and state ~= 'running' and opts[EXPIRES_AT]
  if expiry and tonumber(score or -1) ~= tonumber(expiry) then
    redis.call('ZADD', k_expiring, expiry, id)
    report('expiry_not_indexed', id)
  end
end

-- A live job holds its unique key, unless another live job holds it.
local function check_key(id, state, opts)
  local is_live = not KEEP[state]
  local holder = is_live and opts[UNIQUE_KEY] and redis.call('HGET', k_unique, opts[UNIQUE_KEY])
  if not is_live or not opts[UNIQUE_KEY] or holder == id then
    return
  end
  local other = holder and holder ~= '' and state_of(holder)
  if other and not KEEP[other] and load_opts(holder)[UNIQUE_KEY] == opts[UNIQUE_KEY] then
    opts[UNIQUE_KEY], opts[UNTIL_START], opts[UNIQUE_FOR] = nil, nil, nil
    save_opts(id, opts)
    report('unique_key_shared', id, holder)
  else
    redis.call('HSET', k_unique, opts[UNIQUE_KEY], id)
    drop_tombstone(HELD_KEY .. opts[UNIQUE_KEY])
    report('unique_key_lost', id)
  end
end

local next_at = scan_page(k_jobs, 'anchored', ARGV[1], jobs_on_page(), function(id, value)
  if is_name(id) then
    ids[#ids + 1] = id
  else
    rename_job(id, value)
  end
end)
if #ids > 0 then
  load_page()
end
for i = 1, #ids do
  local id = ids[i]
  local opts = repaired_opts(id, seen.encoded_opts[i])
  local state = repaired_state(id, i, seen)
  if state == 'scheduled' and seen.scheduled[i] == PENDING_SCORE and opts[IS_SCHEDULED] then
    state = 'pending'
  end
  check_due(id, state, seen.scheduled[i])
  check_suspect(id, state, opts, seen.suspects[i])
  if opts[GROUP] then
    group_lib.start_groups()
    if state == 'ready' then
      group_lib.check_line(id, opts)
    end
  end
  check_expiry(id, state, opts, seen.expiring[i])
  check_key(id, state, opts)
end
if next_at == '' then
  redis.call('HDEL', k_state, ENDS_LOST_FIELD)
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
