-- migrate: converts a page of a queue from schema 1. From the first page on all other calls are refused, until the last.
-- keys: state jobs migrating opts running
-- uses:
-- flags:
-- args: what to convert (`running` first, then `jobs`), the cursor of the page (0: the first)
-- reply: the next cursor (empty: all converted), the number of jobs converted so far, the number of partitions (0: there is no queue), 1 if the queue was older
local PAGE, PAGE_BYTES = 200, 4194304
local CONVERTING = 1.5 -- the schema meanwhile: newer for programs of schema 1, older for those of schema 2
local PARTITIONS_BEFORE = 46
-- Runs of numbers in the stats: position in schema 2, position in schema 1, length.
local MOVED = {
  { CLOCK_MARK, 2, 1 }, { LAST_TOKEN, 3, 1 }, { PAUSED, 4, 1 }, { STALE_ENTRIES, 7, 1 }, { BYTES, 8, 1 },
  { SUCCEEDED_BYTES, 9, 1 }, { DEAD_BYTES, 10, 1 }, { CANCELLED_BYTES, 11, 1 },
  { TOTAL_ENQUEUED, 12, 1 }, { TOTAL_SUCCEEDED, 13, 1 }, { TOTAL_DEAD, 14, 1 }, { TOTAL_CANCELLED, 15, 1 }, { TOTAL_RESCUED, 16, 1 },
  { ENQUEUED_MINUTE, 17, 3 }, { ENDED_MINUTE, 20, 3 }, { WATCHED_UNTIL, 23, 1 }, { WAITERS_UNTIL, 24, 1 }, { SHORTEN_FROM, 25, 1 },
  { READY, 26, 10 }, { LIST_BASE, 36, 10 }, { PARTITIONS, PARTITIONS_BEFORE, 1 }, { GROW_AT, 47, 1 },
}
local packed = redis.call('HGET', k_state, STATS_FIELD)
if not packed and redis.call('HLEN', k_jobs) == 0 then
  return { '', 0, 0, 0 }
elseif not packed or #packed ~= STATS_BYTES then
  return redis.error_reply('DAMAGED the stats of the queue are lost; run `windlass audit` of the version that wrote them')
end
local before = { struct.unpack(STATS_FORMAT, packed) }
if before[SCHEMA] > GROUPS_SCHEMA then
  return redis.error_reply('NEWER the queue has schema ' .. before[SCHEMA])
elseif before[SCHEMA] >= SCHEMA_VERSION then
  return { '', 0, before[PARTITIONS], 0 }
end

local function write(schema, stats)
  stats[SCHEMA] = schema
  redis.call('HSET', k_state, STATS_FIELD, struct.pack(STATS_FORMAT, unpack(stats, 1, STATS_COUNT)))
end

-- Opts that matter to no script move to the job's value. The value of a job with other opts says so: its entry in a ready
-- list does not.
local function value_of(id, payload)
  local stored = redis.call('HGET', k_opts, id)
  if not stored then
    return string.char(LINE_FEED) .. payload
  end
  local lines = string.gsub('\n' .. stored, '\n' .. HEADERS .. 'content%-type\tapplication/json\n$', '\n' .. IS_JSON .. '\n')
  local opts = string.sub(lines, 2)
  local others = '\n[^' .. PRIORITY .. KIND .. RETRY_POLICY .. TIMEOUT .. HEADERS .. IS_JSON .. ']'
  if string.sub(opts, -1) == '\n' and not string.find(lines, others) and #opts + 1 + #payload <= INLINE_MAX then
    redis.call('HDEL', k_opts, id)
    return opts .. '\n' .. payload
  end
  redis.call('HSET', k_opts, id, opts)
  return string.char(NEEDS_CARE) .. payload
end

if before[SCHEMA] ~= CONVERTING then
  write(CONVERTING, before)
end
if ARGV[1] == 'running' then
  local page = redis.call('HSCAN', k_running, ARGV[2], 'COUNT', PAGE)
  for i = 1, #page[2], 2 do
    -- Jobs that run now have perhaps more to remove than their value.
    redis.call('HSET', k_running, page[2][i], (string.gsub(page[2][i + 1], '^([^\t]+\t%d)[%l-]', '%1' .. MORE)))
  end
  return { page[1] == '0' and '' or page[1], 0, before[PARTITIONS_BEFORE], 1 }
end

-- Jobs move to another hash, so that each is converted once.
local average = before[BYTES] / (redis.call('HLEN', k_jobs) + redis.call('HLEN', k_migrating) + 1)
local count = math.max(1, math.min(PAGE, math.floor(PAGE_BYTES / math.max(1, average))))
local page = redis.call('HSCAN', k_jobs, ARGV[2], 'COUNT', count)
for i = 1, #page[2], 2 do
  local id, value = page[2][i], page[2][i + 1]
  redis.call('HSET', k_migrating, id, id == '' and value or value_of(id, value))
  redis.call('HDEL', k_jobs, id)
end
local converted = math.max(0, redis.call('HLEN', k_migrating) - redis.call('HEXISTS', k_migrating, ''))
if redis.call('HLEN', k_jobs) > 0 then
  return { page[1], converted, before[PARTITIONS_BEFORE], 1 }
end
if redis.call('EXISTS', k_migrating) == 1 then
  redis.call('RENAME', k_migrating, k_jobs)
end
local stats = {}
for i = 1, STATS_COUNT do
  stats[i] = 0
end
for _, run in ipairs(MOVED) do
  for i = 0, run[3] - 1 do
    stats[run[1] + i] = before[run[2] + i]
  end
end
write(SCHEMA_VERSION, stats)
return { '', converted, stats[PARTITIONS], 1 }
