-- audit/tombstones: what outlives its job: remembered ids, and stale entries of ready lists.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting audit/report audit/validate audit/opts audit/job
-- flags: allow-oom
-- args: tombstones, forgetting or ghosts; cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local ENDED = { succeeded = true, dead = true, cancelled = true }
local meet = {}

-- An id is remembered after its job's end, as what it ended, until a time.
function meet.tombstones(id, text)
  local word, until_ms = string.match(text, '^(%l+) (%d+)$')
  local state = id ~= '' and state_of(id)
  local is_live = state == 'ready' or state == 'scheduled' or state == 'running'
  if not is_name(id) or not ENDED[word] or not is_number(until_ms) or is_live then
    redis.call('HDEL', k_tombstones, id)
    redis.call('ZREM', k_forgetting, id)
    report('tombstone_wrong', id)
    return
  end
  if state and state ~= word then
    redis.call('HSET', k_tombstones, id, state .. ' ' .. until_ms)
    report('tombstone_wrong', id)
  end
  if tonumber(redis.call('ZSCORE', k_forgetting, id) or -1) ~= tonumber(until_ms) then
    redis.call('ZADD', k_forgetting, until_ms, id)
    report('tombstone_wrong', id)
  end
end

function meet.forgetting(id)
  if redis.call('HEXISTS', k_tombstones, id) == 0 then
    redis.call('ZREM', k_forgetting, id)
    report('tombstone_wrong', id)
  end
end

-- Scripts that place a job read these: what cannot be read must go first. Their counts are looked at with the lists.
function meet.ghosts(id, text)
  local stale, generation = string.match(text, '^(%d+) (%d+)$')
  if not is_name(id) or not is_number(stale) or not is_number(generation) or tonumber(stale) == 0 then
    redis.call('HDEL', k_ghosts, id)
    report('ghosts_unreadable', id)
  end
end

local WALKS = {
  tombstones = { k_tombstones, 'hash' },
  forgetting = { k_forgetting, 'zset' },
  ghosts = { k_ghosts, 'hash' },
}
local walk = WALKS[ARGV[1]]
local next_at = scan_page(walk[1], walk[2], ARGV[2], 200, meet[ARGV[1]])
local records = redis.call('HLEN', k_ghosts)
if f[GHOSTS] < records then
  -- Were it zero, stale entries would be taken for jobs.
  f[GHOSTS] = records
  report('figures_wrong', nil, 'stale entries')
end
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
