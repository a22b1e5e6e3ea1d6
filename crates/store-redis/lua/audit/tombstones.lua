-- audit/tombstones: checks the records that outlive a job: tombstones and stale entries of ready lists.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/validate audit/opts audit/job
-- flags: allow-oom
-- args: `tombstones`, `forgetting` or `ghosts`; cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local ENDED = { succeeded = true, dead = true, cancelled = true }
local WAITING = { ready = true, scheduled = true, pending = true }
local AMENDED = { [REPLACED] = true, [POSTPONED] = true }
local check = {}

-- Whether a tombstone is readable and no job contradicts it.
local function is_right(name, ended, code, job)
  local key = string.match(name, '^' .. HELD_KEY .. '(.*)$')
  if key then
    return is_name(key) and code == DUPLICATE and is_name(job) and ENDED[ended] and redis.call('HEXISTS', k_unique, key) == 0
  end
  local state = is_name(name) and state_of(name)
  if code then
    return is_name(name) and not state and AMENDED[code] and WAITING[ended] and is_name(job)
  end
  return is_name(name) and ENDED[ended] and (not state or ENDED[state])
end

-- A tombstone has the end state of a job that ended, or the reply to an enqueue that changed a waiting job, and a time.
function check.tombstones(name, text)
  local ended, until_ms, rest = string.match(text, '^(%l+) (%d+)(.*)$')
  local code, job = string.match(rest or '', '^ (.)(.+)$')
  if not is_number(until_ms) or (rest ~= '' and not code) or not is_right(name, ended, code, job) then
    redis.call('HDEL', k_tombstones, name)
    redis.call('ZREM', k_forgetting, name)
    report('tombstone_wrong', name)
    return
  end
  local state = not code and state_of(name)
  if state and state ~= ended then
    redis.call('HSET', k_tombstones, name, state .. ' ' .. until_ms)
    report('tombstone_wrong', name)
  end
  if tonumber(redis.call('ZSCORE', k_forgetting, name) or -1) ~= tonumber(until_ms) then
    redis.call('ZADD', k_forgetting, until_ms, name)
    report('tombstone_wrong', name)
  end
end

function check.forgetting(id)
  if redis.call('HEXISTS', k_tombstones, id) == 0 then
    redis.call('ZREM', k_forgetting, id)
    report('tombstone_wrong', id)
  end
end

-- Scripts that add jobs to lists read these records, so unreadable ones go first. Their counts are checked with the lists.
function check.ghosts(id, text)
  local stale, generation = string.match(text, '^(%d+) (%d+)$')
  if not is_name(id) or not is_number(stale) or not is_number(generation) or tonumber(stale) == 0 then
    redis.call('HDEL', k_ghosts, id)
    report('stale_entries_unreadable', id)
  end
end

local SCANS = {
  tombstones = { k_tombstones, 'hash' },
  forgetting = { k_forgetting, 'zset' },
  ghosts = { k_ghosts, 'hash' },
}
local scan = SCANS[ARGV[1]]
local next_at = scan_page(scan[1], scan[2], ARGV[2], 200, check[ARGV[1]])
local records = redis.call('HLEN', k_ghosts)
if stats[STALE_ENTRIES] < records then
  -- If it were 0, claims would take stale entries for jobs.
  stats[STALE_ENTRIES] = records
  report('stats_wrong', nil, 'stale entries')
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
