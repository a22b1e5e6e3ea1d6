-- audit/jobs: every job is in exactly one place, and what depends on its state agrees with it.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish audit/report audit/validate audit/opts audit/job audit/state audit/rename
-- flags: allow-oom
-- args: cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local ids, seen = {}, nil

-- What stands in all places for the jobs of this page.
local function look_up()
  seen = {
    running = redis.call('HMGET', k_running, unpack(ids)),
    final = redis.call('HMGET', k_final, unpack(ids)),
    opts = redis.call('HMGET', k_opts, unpack(ids)),
    scheduled = redis.call('ZMSCORE', k_scheduled, unpack(ids)),
    suspects = redis.call('ZMSCORE', k_suspects, unpack(ids)),
    expiring = redis.call('ZMSCORE', k_expiring, unpack(ids)),
    succeeded = redis.call('ZMSCORE', k_succeeded, unpack(ids)),
    dead = redis.call('ZMSCORE', k_dead, unpack(ids)),
    cancelled = redis.call('ZMSCORE', k_cancelled, unpack(ids)),
    are_ends_lost = redis.call('HEXISTS', k_state, 'ends') == 1,
  }
end

-- One place is kept; the job is taken out of the others.
local function check_schedule(id, state, due)
  if due and state ~= 'scheduled' then
    redis.call('ZREM', k_scheduled, id)
    report('in_two_places', id, 'scheduled and ' .. state)
  elseif due and not is_time(due) then
    redis.call('ZADD', k_scheduled, now, id)
    report('value_unreadable', id, 'scheduled')
  end
end

-- A suspect stands among the suspects of its priority, another ready job does not.
local function check_suspect(id, state, o, score)
  local priority = tonumber(o.p or 5)
  if state ~= 'ready' or not is_suspect(o) then
    if score then
      redis.call('ZREM', k_suspects, id)
      report('in_two_places', id, 'suspects and ' .. state)
    end
  elseif not score then
    -- Ready it was before, so that it is counted.
    put_in_lane(id, o)
    f[READY + priority] = f[READY + priority] - 1
    report('in_no_place', id)
  else
    local lane = math.floor(tonumber(score) / LANE)
    local position = tonumber(score) - priority * LANE - LANE / 2
    if lane ~= priority then
      redis.call('ZREM', k_suspects, id)
      put_in_lane(id, o)
      f[READY + priority] = f[READY + priority] - 1
      report('entry_wrong', id, 'the suspects of priority ' .. whole(lane))
    elseif position > f[BACK] or position < f[FRONT] then
      f[BACK], f[FRONT] = math.max(f[BACK], position), math.min(f[FRONT], position)
      report('figures_wrong', nil, 'positions of suspects')
    end
  end
end

local function check_expiry(id, state, o, score)
  local expiry = (state == 'ready' or state == 'scheduled') and o.e
  if expiry and tonumber(score or -1) ~= tonumber(expiry) then
    redis.call('ZADD', k_expiring, expiry, id)
    report('expiry_unwatched', id)
  end
end

-- A live job holds its unique key; where another live one does, that one keeps it.
local function check_key(id, state, o)
  local is_live = state == 'ready' or state == 'scheduled' or state == 'running'
  local holder = is_live and o.u and redis.call('HGET', k_unique, o.u)
  if not is_live or not o.u or holder == id then
    return
  end
  local other = holder and holder ~= '' and state_of(holder)
  if (other == 'ready' or other == 'scheduled' or other == 'running') and load_opts(holder).u == o.u then
    o.u = nil
    save_opts(id, o)
    report('unique_key_shared', id, holder)
  else
    redis.call('HSET', k_unique, o.u, id)
    report('unique_key_lost', id)
  end
end

local next_at = scan_page(k_jobs, 'anchored', ARGV[1], jobs_on_page(), function(id, payload)
  if is_name(id) then
    ids[#ids + 1] = id
  else
    rename(id, payload)
  end
end)
if #ids > 0 then
  look_up()
end
for i = 1, #ids do
  local id = ids[i]
  local o = mended_opts(id, seen.opts[i])
  local state = sound_state(id, i, seen)
  check_schedule(id, state, seen.scheduled[i])
  check_suspect(id, state, o, seen.suspects[i])
  check_expiry(id, state, o, seen.expiring[i])
  check_key(id, state, o)
end
if next_at == '' then
  redis.call('HDEL', k_state, 'ends')
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
