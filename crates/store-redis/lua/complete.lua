-- complete: ends jobs well and, in the same step, may claim the next.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap pick record_claim claim_fast fast_path waiters claim
-- flags: allow-oom
-- guards: lazy
-- args: how many claims; token and number of jobs of each; the ids (each once), claim by claim; how many results; of each its place among the ids and its bytes; then a request as in claim, or nothing
-- reply: the words (completed, lease_lost, gone) in one text, separated by spaces, or one `completed` for all; then what claim replies, where it was asked
local claims = tonumber(ARGV[1])
local first, total = 2 + 2 * claims, 0
for i = 1, claims do
  total = total + tonumber(ARGV[2 * i + 1])
end
local last = first + total - 1
local results, results_end = {}, last + 1 + 2 * tonumber(ARGV[last + 1])
for at = last + 2, results_end, 2 do
  results[tonumber(ARGV[at])] = ARGV[at + 1]
end
local holds = total > 0 and redis.call('HMGET', k_running, unpack(ARGV, first, last)) or {}
local SAME = { completed = true }

-- Ends jobs that leave nothing behind, all at once: `from` to `to` in a list of ids.
local function remove_short(ids, from, to, bytes, has_opts)
  redis.call('HDEL', k_running, unpack(ids, from, to))
  redis.call('HDEL', k_jobs, unpack(ids, from, to))
  if has_opts then
    redis.call('HDEL', k_opts, unpack(ids, from, to))
  end
  if not is_quiet and redis.call('HLEN', k_progress) > 0 then
    redis.call('HDEL', k_progress, unpack(ids, from, to))
  end
  local removed = to - from + 1
  f[BYTES] = f[BYTES] - bytes
  f[TOTAL.succeeded] = f[TOTAL.succeeded] + removed
  count(ENDED_MINUTE, removed)
  is_changed = true
end

-- The length of the payload of a hold of this token whose job leaves nothing behind, and whether it has opts to drop;
-- false when it is another's, or an end to look at.
local function read_short(hold, token)
  if string.find(hold, token, 1, true) ~= 1 then
    return false
  end
  local flag, bytes = string.match(hold, '^\t%d([s-])(%d+)', #token + 1)
  return tonumber(bytes) or false, flag == 's'
end

-- Whether none of the jobs has an end to look at.
local function are_ends_short()
  local seen
  for i = 1, total do
    if holds[i] and holds[i] ~= seen then
      seen = holds[i]
      if string.find(seen, '^[^\t]+\t%do') then
        return false
      end
    end
  end
  return true
end

local function complete_one(id, token, text, result)
  local hold = text and read_hold(text)
  if not hold or hold.token ~= token then
    return nil
  end
  local o = load_opts(id)
  leave_claim(id, token, 'completed')
  succeed(id, o, hold.bytes, issued_at(token), result)
  return 'completed'
end

-- Notes that a job of the short way leaves its claim.
local function leave_short(id, open, stopping)
  if open then
    open.remaining = open.remaining - 1
    open.is_touched = true
    if stopping then
      redis.call('ZREM', k_stopping, open.owner .. '\t' .. id)
    end
  end
  if is_watched then
    announce(id, 'succeeded')
  end
end

-- A word for each job, or nothing when all are completed.
local function complete_all()
  local may_be_short = rule(KEEP_SUCCEEDED) ~= 1
  local stopping = not is_quiet and redis.call('ZCARD', k_stopping) > 0
  local short, bytes_of_short, has_opts = {}, 0, false
  local words, at, others = {}, 0, 0
  for i = 1, claims do
    local token, open = ARGV[2 * i], nil
    -- Most holds of a claim are the same text: each is read once.
    local lengths = {}
    for _ = 1, tonumber(ARGV[2 * i + 1]) do
      at = at + 1
      local id, hold = ARGV[first + at - 1], holds[at]
      local bytes = hold and lengths[hold]
      if hold and bytes == nil then
        local is_opted
        bytes, is_opted = read_short(hold, token)
        has_opts = has_opts or is_opted
        lengths[hold] = bytes
      end
      if bytes and may_be_short and not results[at] then
        open = open or open_claim(token)
        leave_short(id, open, stopping)
        short[#short + 1] = id
        bytes_of_short = bytes_of_short + bytes
        words[at] = 'completed'
      else
        words[at] = complete_one(id, token, hold, results[at])
        others = others + 1
      end
    end
  end
  if #short > 0 then
    remove_short(short, 1, #short, bytes_of_short, has_opts)
  end
  at = 0
  for i = 1, others > 0 and claims or 0 do
    for _ = 1, tonumber(ARGV[2 * i + 1]) do
      at = at + 1
      words[at] = words[at] or told_before(ARGV[first + at - 1], ARGV[2 * i], SAME)
    end
  end
  close_claims()
  prune_step()
  return others == 0 and 'completed' or table.concat(words, ' ')
end

local request = ARGV[results_end + 8] and read_request(results_end + 1)
local max = request and math.min(request.max, CLAIM_MAX) or 0
guard(not next(results) and not (request and request.mode == 'm') and are_ends_short(), max)
local answer = ''
if total > 0 then
  answer = exists and complete_all() or string.rep('gone ', total)
end
if not request then
  commit()
  return { answer }
end
local reply = exists and claim(request) or nothing()
commit()
table.insert(reply, 1, answer)
return reply
