-- audit/count: counts jobs and their bytes, page after page, and mends the figures where nothing moved meanwhile.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting audit/report audit/validate audit/opts audit/job audit/rename audit/fingerprint
-- flags: allow-oom
-- args: cursor, stamp of the first page (empty on that), then what earlier pages counted: jobs; bytes; bytes of succeeded, dead, cancelled jobs; ready jobs by priority
-- reply: as in lib/audit/report, then the stamp (`moved` when it is another by now), the fifteen counts, and the ids of jobs that must stand in a ready list
local counted, names = {}, { 'jobs', 'bytes', 'bytes of succeeded', 'bytes of dead', 'bytes of cancelled' }
for i = 1, 15 do
  counted[i] = tonumber(ARGV[2 + i])
end
if not exists then
  return page_reply('', { '', unpack(counted) })
end
local AT = { succeeded = 3, dead = 4, cancelled = 5 }
local has_errors, has_results = redis.call('HLEN', k_errors) > 0, redis.call('HLEN', k_results) > 0
local ids, sizes, listed = {}, {}, {}

local function meet(id, payload)
  local bytes = #payload
  bytes = bytes + (has_errors and redis.call('HSTRLEN', k_errors, id) or 0)
  bytes = bytes + (has_results and redis.call('HSTRLEN', k_results, id) or 0)
  counted[1], counted[2] = counted[1] + 1, counted[2] + bytes
  ids[#ids + 1] = id
  sizes[#sizes + 1] = bytes
end

local function count_states()
  local holds = redis.call('HMGET', k_running, unpack(ids))
  local ends = redis.call('HMGET', k_final, unpack(ids))
  local due = redis.call('ZMSCORE', k_scheduled, unpack(ids))
  local texts = redis.call('HMGET', k_opts, unpack(ids))
  for i = 1, #ids do
    if not holds[i] and ends[i] then
      local at = AT[string.match(ends[i], '^%l+')] or 1
      counted[at] = counted[at] + (at > 1 and sizes[i] or 0)
    elseif not holds[i] and not due[i] then
      local o = sound_opts(texts[i] or '')
      local lane = 6 + tonumber(o.p or 5)
      counted[lane] = counted[lane] + 1
      if not is_suspect(o) and is_name(ids[i]) then
        listed[#listed + 1] = ids[i]
      end
    end
  end
end

-- Sets each figure to what was counted; answers in words which were wrong.
local function mend()
  local wrong = {}
  for i = 2, 15 do
    local at = i <= 5 and BYTES + i - 2 or READY + i - 6
    if f[at] ~= counted[i] then
      local name = names[i] or 'ready jobs of priority ' .. (i - 6)
      wrong[#wrong + 1] = name .. ': said ' .. whole(f[at]) .. ', counted ' .. whole(counted[i])
      f[at] = counted[i]
    end
  end
  return table.concat(wrong, '; ')
end

local next_at = scan_page(k_jobs, 'anchored', ARGV[1], jobs_on_page(), meet)
if #ids > 0 then
  count_states()
end
local is_still = ARGV[2] == '' or ARGV[2] == stamp()
local rest = { is_still and stamp() or 'moved' }
-- A page may show a job twice while Redis makes the hash smaller: then the count is no proof.
if next_at == '' and is_still and counted[1] == redis.call('HLEN', k_jobs) - redis.call('HEXISTS', k_jobs, '') then
  local wrong = mend()
  if wrong ~= '' then
    report('figures_wrong', nil, wrong)
    is_changed = true
    commit()
  end
end
for i = 1, 15 do
  rest[1 + i] = whole(counted[i])
end
for i = 1, #listed do
  rest[16 + i] = listed[i]
end
return page_reply(next_at, rest)
