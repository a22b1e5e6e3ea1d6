-- audit/orphans: drops values of jobs that do not exist, and values that their job does not need.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names error_groups error_seen sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting limit lease audit/report audit/validate audit/opts audit/job
-- flags: allow-oom
-- args: name of the key; cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local stage, cursor = ARGV[1], ARGV[2]
local COUNT = 200

-- Drops a member of the key of this stage.
local function drop(key, kind, member, code, id)
  redis.call(kind == 'zset' and 'ZREM' or 'HDEL', key, member)
  report(code, id, stage)
end

-- Keys whose members must be jobs; audit/jobs checks the rest.
local INDEXES = {
  opts = { k_opts, 'anchored' },
  suspects = { k_suspects, 'zset' },
  scheduled = { k_scheduled, 'zset' },
  final = { k_final, 'hash' },
  succeeded = { k_succeeded, 'zset' },
  dead = { k_dead, 'zset' },
  cancelled = { k_cancelled, 'zset' },
}

local CHECK = {}

function CHECK.errors(id, text)
  local encoded_opts = redis.call('HGET', k_opts, id)
  if not has_job(id) then
    drop(k_errors, 'hash', id, 'without_job', id)
  elseif not string.find('\n' .. (encoded_opts or ''), '\n[' .. ATTEMPT .. EXPIRIES .. ']') and redis.call('HEXISTS', k_final, id) == 0 then
    -- The opts of a job with errors contain the attempt or expiries. Without opts, completing the job would not remove them.
    drop(k_errors, 'hash', id, 'leftover', id)
  elseif not is_utf8(text) then
    -- Keeps the length, so that the stats stay right.
    redis.call('HSET', k_errors, id, (string.gsub(text, '[\128-\255]', '?')))
    report('value_unreadable', id, stage)
  end
end

function CHECK.error_groups(name, record)
  local seen_at = string.match(record, '^%d+\t%d+\t(%d+)\t[%d: ]*\t[^\n]+\n')
  local kind, message = string.match(name, '^([^\t]*)\t(.*)$')
  local is_named = kind and (kind == '' or is_name(kind)) and is_plain_text(message)
  if not is_named or not is_number(seen_at) or not is_utf8(record) then
    redis.call('ZREM', k_error_seen, name)
    drop(k_error_groups, 'hash', name, 'value_unreadable')
  elseif not redis.call('ZSCORE', k_error_seen, name) then
    redis.call('ZADD', k_error_seen, seen_at, name)
    report('error_group_not_listed', '', name)
  end
end

function CHECK.error_seen(name)
  if redis.call('HEXISTS', k_error_groups, name) == 0 then
    drop(k_error_seen, 'zset', name, 'leftover')
  end
end

function CHECK.results(id)
  local state = id ~= '' and state_of(id)
  if state ~= 'succeeded' then
    drop(k_results, 'hash', id, state and 'leftover' or 'without_job', id)
  end
end

function CHECK.progress(id, text)
  local fraction, at, message = string.match(text, '^([^\t]+)\t(%d+)(.*)$')
  local done = tonumber(fraction) or -1
  local is_valid = done >= 0 and done <= 1 and is_number(at) and is_utf8(message)
    and (message == '' or string.byte(message) == TAB)
  if not has_job(id) then
    drop(k_progress, 'hash', id, 'without_job', id)
  elseif redis.call('HEXISTS', k_running, id) == 0 then
    drop(k_progress, 'hash', id, 'leftover', id)
  elseif not is_valid then
    drop(k_progress, 'hash', id, 'value_unreadable', id)
  end
end

function CHECK.expiring(id)
  local state = id ~= '' and state_of(id)
  if not state then
    drop(k_expiring, 'zset', id, 'without_job', id)
  elseif KEEP[state] or state == 'running' or not repaired_opts(id)[EXPIRES_AT] then
    drop(k_expiring, 'zset', id, 'leftover', id)
  end
end

function CHECK.unique(key, id)
  local state = id ~= '' and state_of(id)
  local is_live = state and not KEEP[state]
  if not is_live or repaired_opts(id)[UNIQUE_KEY] ~= key then
    drop(k_unique, 'hash', key, state and 'leftover' or 'without_job', id)
  end
end

function CHECK.stopping(member)
  local owner, id = string.match(member, '^([^\t]*)\t(.*)$')
  local lease = id and id ~= '' and redis.call('HGET', k_running, id)
  local open = lease and open_claim(decode_lease(lease).token)
  if not open or open.owner ~= owner then
    drop(k_stopping, 'zset', member, id and has_job(id) and 'leftover' or 'without_job', id)
  end
end

local index = INDEXES[stage]
local next_at
if index then
  next_at = scan_page(index[1], index[2], cursor, COUNT, function(id)
    if not has_job(id) then
      drop(index[1], index[2], id, 'without_job', id)
    end
  end)
else
  local hashes = { errors = k_errors, results = k_results, progress = k_progress, unique = k_unique, error_groups = k_error_groups }
  local sets = { expiring = k_expiring, stopping = k_stopping, error_seen = k_error_seen }
  next_at = scan_page(hashes[stage] or sets[stage], hashes[stage] and 'hash' or 'zset', cursor, COUNT, CHECK[stage])
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
