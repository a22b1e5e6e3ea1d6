-- audit/begin: makes figures anew that are lost or make no sense, and puts back the fields that keep hashes hash tables.
-- keys: state settings jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: audit/report
-- flags: allow-oom
-- args: none
-- reply: as in lib/audit/report; `absent` in its first part where there is no queue; then `rules` where the rules were lost, or `figures` where only those were
local FORMAT = '<' .. string.rep('d', 47)
local LAST_TOKEN, FRONT, GHOSTS, WATCHED_UNTIL, READY, BASE, PARTITIONS = 3, 5, 7, 23, 26, 36, 46
local LANE = 1099511627776
local stored = redis.call('HGET', k_state, 'figures')
if not stored and redis.call('EXISTS', unpack(KEYS)) == 0 then
  return page_reply('absent')
end

-- Figures for what is there. They err on the safe side: jobs can be claimed and stale entries are known at once; the
-- rest of the audit counts them right.
local function figures_anew()
  local f = {}
  for i = 1, 47 do
    f[i] = 0
  end
  local latest = redis.call('ZREVRANGE', k_tokens, 0, 0)[1]
  local number = tonumber(string.match(latest or '', '^%d+')) or 0
  f[1], f[2], f[LAST_TOKEN], f[PARTITIONS] = 1, clock_us, math.max(clock_us, number), 1
  f[GHOSTS] = redis.call('HLEN', k_ghosts)
  f[WATCHED_UNTIL] = math.floor(clock_us / 1000) + 30000
  for priority = 0, 9 do
    local high = '(' .. string.format('%.0f', (priority + 1) * LANE)
    f[READY + priority] = redis.call('LLEN', k_ready[priority])
      + redis.call('ZCOUNT', k_suspects, priority * LANE, high)
  end
  return f
end

-- Only positions may be below zero, and those at the front of the suspects are never above.
local function is_sound(f, i)
  local number = f[i]
  if number ~= number or math.abs(number) == math.huge or number ~= math.floor(number) then
    return false
  elseif i == FRONT then
    return number <= 0
  end
  return number >= 0 or (i >= BASE and i < BASE + 10)
end

local is_lost = not stored or #stored ~= 376
local f, is_mended
if is_lost then
  f, is_mended = figures_anew(), true
  report('figures_lost')
else
  f = { struct.unpack(FORMAT, stored) }
  if f[1] > 1 then
    return redis.error_reply('NEWER the queue has schema ' .. f[1])
  end
  for i = 1, 47 do
    if not is_sound(f, i) then
      f[i], is_mended = 0, true
      report('figures_wrong', nil, 'figure ' .. i .. ' was none')
    end
  end
  if f[PARTITIONS] < 1 then
    f[PARTITIONS], is_mended = 1, true
    report('figures_wrong', nil, 'the queue had no partition')
  end
end
if is_mended then
  redis.call('HSET', k_state, 'figures', struct.pack(FORMAT, unpack(f, 1, 47)))
end
local anchored = { jobs = k_jobs, opts = k_opts, running = k_running, open = k_open, claims = k_claims }
for name, key in pairs(anchored) do
  if redis.call('HSTRLEN', key, '') < 65 then
    redis.call('HSET', key, '', string.rep('.', 65))
    report('anchor_missing', nil, name)
  end
end
-- Where no end is on record, the places of the ended jobs are believed instead (audit/jobs).
local ended = redis.call('ZCARD', k_succeeded) + redis.call('ZCARD', k_dead) + redis.call('ZCARD', k_cancelled)
if ended > 0 and redis.call('HLEN', k_final) == 0 then
  redis.call('HSET', k_state, 'ends', 'lost')
end

local rules = redis.call('HGET', k_state, 'rules')
local is_ruled = rules and #rules == 112
for _, number in ipairs(is_ruled and { struct.unpack('<dddddddddddddd', rules) } or {}) do
  is_ruled = is_ruled and number == math.floor(number) and math.abs(number) < math.huge
end
if not is_ruled and (rules or redis.call('HLEN', k_settings) > 0) then
  redis.call('HDEL', k_state, 'rules')
  report('rules_lost')
  return page_reply('', { 'rules' })
end
return page_reply('', is_lost and { 'figures' } or nil)
