-- audit/orphans: what stands in a place for a job that does not exist, or of which its job has no use.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease audit/report audit/validate audit/opts audit/job
-- flags: allow-oom
-- args: name of the key; cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local stage, cursor = ARGV[1], ARGV[2]
local COUNT = 200

-- Drops a member of the stage's key.
local function drop(key, kind, member, fault, id)
  redis.call(kind == 'zset' and 'ZREM' or 'HDEL', key, member)
  report(fault, id, stage)
end

-- Places where a job must exist; what else is wrong with them is found with the job.
local PLACES = {
  opts = { k_opts, 'anchored' },
  suspects = { k_suspects, 'zset' },
  scheduled = { k_scheduled, 'zset' },
  final = { k_final, 'hash' },
  succeeded = { k_succeeded, 'zset' },
  dead = { k_dead, 'zset' },
  cancelled = { k_cancelled, 'zset' },
}

local MEET = {}

function MEET.errors(id, text)
  local opts = redis.call('HGET', k_opts, id)
  if not has_job(id) then
    drop(k_errors, 'hash', id, 'without_job', id)
  elseif (not opts or is_mute(opts)) and redis.call('HEXISTS', k_final, id) == 0 then
    -- The opts of a job that failed say so; where they say nothing of the sort, its end would not clear this away.
    drop(k_errors, 'hash', id, 'left_behind', id)
  elseif not is_utf8(text) then
    -- As many bytes as before, so that no figure changes.
    redis.call('HSET', k_errors, id, (string.gsub(text, '[\128-\255]', '?')))
    report('value_unreadable', id, stage)
  end
end

function MEET.results(id)
  local state = id ~= '' and state_of(id)
  if state ~= 'succeeded' then
    drop(k_results, 'hash', id, state and 'left_behind' or 'without_job', id)
  end
end

function MEET.progress(id, text)
  local fraction, at, message = string.match(text, '^([^\t]+)\t(%d+)(.*)$')
  local done = tonumber(fraction) or -1
  local is_sound = done >= 0 and done <= 1 and is_number(at) and is_utf8(message)
    and (message == '' or string.byte(message) == 9)
  if not has_job(id) then
    drop(k_progress, 'hash', id, 'without_job', id)
  elseif redis.call('HEXISTS', k_running, id) == 0 then
    drop(k_progress, 'hash', id, 'left_behind', id)
  elseif not is_sound then
    drop(k_progress, 'hash', id, 'value_unreadable', id)
  end
end

function MEET.expiring(id)
  local state = id ~= '' and state_of(id)
  if not state then
    drop(k_expiring, 'zset', id, 'without_job', id)
  elseif (state ~= 'ready' and state ~= 'scheduled') or not mended_opts(id).e then
    drop(k_expiring, 'zset', id, 'left_behind', id)
  end
end

function MEET.unique(key, id)
  local state = id ~= '' and state_of(id)
  local is_live = state == 'ready' or state == 'scheduled' or state == 'running'
  if not is_live or mended_opts(id).u ~= key then
    drop(k_unique, 'hash', key, state and 'left_behind' or 'without_job', id)
  end
end

function MEET.stopping(member)
  local owner, id = string.match(member, '^([^\t]*)\t(.*)$')
  local hold = id and id ~= '' and redis.call('HGET', k_running, id)
  local open = hold and open_claim(read_hold(hold).token)
  if not open or open.owner ~= owner then
    drop(k_stopping, 'zset', member, id and has_job(id) and 'left_behind' or 'without_job', id)
  end
end

local place = PLACES[stage]
local next_at
if place then
  next_at = scan_page(place[1], place[2], cursor, COUNT, function(id)
    if not has_job(id) then
      drop(place[1], place[2], id, 'without_job', id)
    end
  end)
else
  local keys = { errors = k_errors, results = k_results, progress = k_progress, unique = k_unique }
  local key = keys[stage] or stage == 'expiring' and k_expiring or k_stopping
  next_at = scan_page(key, keys[stage] and 'hash' or 'zset', cursor, COUNT, MEET[stage])
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
