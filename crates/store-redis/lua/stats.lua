-- stats: reads the stats of the queue, without scanning.
-- keys: state opts ready suspects ghosts scheduled running succeeded dead cancelled jobs final schedules firing resting
-- uses: stats limit state
-- flags: no-writes
-- args: none
-- reply: an empty list if the queue does not exist; else packed stats, now, scheduled, running, succeeded, dead, cancelled, when the earliest scheduled job or instant of a schedule is due or a closed rate or a rest ends (empty: none), pending, schedules, until when the queue rests (0: it does not), then id and opts of the first job of each lane
if not exists then
  return {}
end
local first = redis.call('ZRANGE', k_scheduled, 0, 0, 'WITHSCORES')
local running = redis.call('HLEN', k_running) - redis.call('HEXISTS', k_running, '')
local reply = {
  stored[1], now, redis.call('ZCARD', k_scheduled), running, redis.call('ZCARD', k_succeeded),
  redis.call('ZCARD', k_dead), redis.call('ZCARD', k_cancelled), '', 0, 0, math.max(0, rest_until),
}
local due = math.min(tonumber(first[2] or NEVER), opening())
if uses_groups then
  local shown = { unpack(stats, 1, STATS_COUNT) }
  for priority = 0, PRIORITY_LAST do
    shown[READY + priority] = shown[READY + priority] + group_numbers[GROUPED_READY + priority]
  end
  reply[1] = struct.pack(STATS_FORMAT, unpack(shown))
  local opens = stats[PAUSED] == 0 and redis.call('ZRANGEBYSCORE', k_resting, '(' .. digits(now_us), '(inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  due = math.min(due, opens and math.ceil(opens / 1000) or NEVER)
end
if has_schedules then
  local pending = redis.call('ZCOUNT', k_scheduled, PENDING_SCORE, PENDING_SCORE)
  due = math.min(due, tonumber(redis.call('ZRANGE', k_firing, 0, 0, 'WITHSCORES')[2] or NEVER))
  reply[3], reply[9], reply[10] = reply[3] - pending, pending, redis.call('HLEN', k_schedules)
end
reply[8] = due < NEVER and digits(due) or ''
local STALE_MAX = 500

local function add(id)
  if id then
    reply[#reply + 1] = id
    reply[#reply + 1] = redis.call('HGET', k_opts, id) or ''
  end
end

-- The first entry of a list that is not stale, within one page.
local function head_of(key)
  local entries = redis.call('LRANGE', key, 0, stats[STALE_ENTRIES] > 0 and STALE_MAX or 0)
  for i = 1, #entries do
    local generation, id = string.match(entries[i], '^\t(%d+)\t(.*)$')
    id = id or entries[i]
    local stale_record = stats[STALE_ENTRIES] > 0 and redis.call('HGET', k_ghosts, id)
    if not (stale_record and tonumber(generation or 0) <= tonumber(string.match(stale_record, ' (%d+)$'))) then
      return id
    end
  end
end

for priority = 0, PRIORITY_LAST do
  if stats[READY + priority] > 0 then
    add(redis.call('ZRANGEBYSCORE', k_suspects, priority * SUSPECT_LANE, '(' .. digits((priority + 1) * SUSPECT_LANE), 'LIMIT', 0, 1)[1])
    add(head_of(k_ready[priority]))
  end
end
return reply
