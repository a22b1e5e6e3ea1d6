-- audit/count: counts jobs and their bytes, page by page, and corrects the stats if nothing moved meanwhile.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/validate audit/opts audit/job audit/rename audit/fingerprint
-- flags: allow-oom
-- args: cursor, fingerprint of the first page (empty on the first), then the counts so far: jobs; bytes; bytes of succeeded, dead, cancelled jobs; ready jobs by priority; running jobs with a group; ready jobs with a group by priority
-- reply: as in lib/audit/report, then the fingerprint (`moved` if it changed), the counts, and the ids of jobs that must be in a ready list
local JOBS_AT, BYTES_AT, READY_AT, GROUPED_AT, COUNTS = 1, 2, 6, 16, 26 -- positions of the counts
local counted, names = {}, { 'jobs', 'bytes', 'bytes of succeeded', 'bytes of dead', 'bytes of cancelled' }
for i = 1, COUNTS do
  counted[i] = tonumber(ARGV[2 + i])
end
if not exists then
  return page_reply('', { '', unpack(counted) })
end
local AT = { succeeded = 3, dead = 4, cancelled = 5 }
local has_errors, has_results = redis.call('HLEN', k_errors) > 0, redis.call('HLEN', k_results) > 0
local ids, sizes, headers, listed = {}, {}, {}, {}

local function check(id, value)
  local bytes = #value - header_length(value)
  bytes = bytes + (has_errors and redis.call('HSTRLEN', k_errors, id) or 0)
  bytes = bytes + (has_results and redis.call('HSTRLEN', k_results, id) or 0)
  counted[JOBS_AT], counted[BYTES_AT] = counted[JOBS_AT] + 1, counted[BYTES_AT] + bytes
  ids[#ids + 1] = id
  sizes[#sizes + 1] = bytes
  headers[#headers + 1] = header_of(value)
end

local function count_states()
  local leases = redis.call('HMGET', k_running, unpack(ids))
  local ends = redis.call('HMGET', k_final, unpack(ids))
  local due = redis.call('ZMSCORE', k_scheduled, unpack(ids))
  local texts = redis.call('HMGET', k_opts, unpack(ids))
  for i = 1, #ids do
    if not leases[i] and ends[i] then
      local at = AT[string.match(ends[i], '^%l+')] or JOBS_AT
      counted[at] = counted[at] + (at > JOBS_AT and sizes[i] or 0)
    elseif leases[i] or not due[i] then
      local opts = decode_valid_opts(texts[i] or headers[i])
      local at = opts[GROUP] and GROUPED_AT or not leases[i] and READY_AT or nil
      if at and not leases[i] then
        at = at + tonumber(opts[PRIORITY] or PRIORITY_DEFAULT) + (opts[GROUP] and 1 or 0)
      end
      if at then
        counted[at] = counted[at] + 1
      end
      -- A job with a group is in a line instead.
      if not leases[i] and not opts[GROUP] and not is_suspect(opts) and is_name(ids[i]) then
        listed[#listed + 1] = ids[i]
      end
    end
  end
end

-- Sets each stat to its count. Returns a description of those that were wrong.
local function correct_stats()
  local wrong = {}
  for i = BYTES_AT, GROUPED_AT - 1 do
    local at = i == BYTES_AT and BYTES or i < READY_AT and SUCCEEDED_BYTES + i - BYTES_AT - 1 or READY + i - READY_AT
    if stats[at] ~= counted[i] then
      local name = names[i] or 'ready jobs of priority ' .. (i - READY_AT)
      wrong[#wrong + 1] = name .. ': was ' .. digits(stats[at]) .. ', counted ' .. digits(counted[i])
      stats[at] = counted[i]
    end
  end
  for i = GROUPED_AT, uses_groups and COUNTS or 0 do
    local at = GROUPED_RUNNING + i - GROUPED_AT
    if group_numbers[at] ~= counted[i] then
      local name = i == GROUPED_AT and 'running jobs with a group' or 'ready jobs with a group of priority ' .. (i - GROUPED_AT - 1)
      wrong[#wrong + 1] = name .. ': was ' .. digits(group_numbers[at]) .. ', counted ' .. digits(counted[i])
      group_numbers[at], are_numbers_changed = counted[i], true
    end
  end
  return table.concat(wrong, '; ')
end

local next_at = scan_page(k_jobs, 'anchored', ARGV[1], jobs_on_page(), check)
if #ids > 0 then
  count_states()
end
local is_unchanged = ARGV[2] == '' or ARGV[2] == fingerprint()
local extra = { is_unchanged and fingerprint() or 'moved' }
-- HSCAN may return a job twice while Redis shrinks the hash: then the count proves nothing.
if next_at == '' and is_unchanged and counted[JOBS_AT] == redis.call('HLEN', k_jobs) - redis.call('HEXISTS', k_jobs, '') then
  local wrong = correct_stats()
  if wrong ~= '' then
    report('stats_wrong', nil, wrong)
    is_changed = true
    commit()
  end
end
for i = 1, COUNTS do
  extra[1 + i] = digits(counted[i])
end
for i = 1, #listed do
  extra[COUNTS + 1 + i] = listed[i]
end
return page_reply(next_at, extra)
