-- complete: ends jobs well and, in the same step, may claim the next.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: figures hints opts state place hold finish extend reap take record plain sleep claim
-- flags: allow-oom
-- args: how many; id (each once), token, result (empty: none, else `=` and its bytes) of each; then a request as in claim, or nothing
-- reply: the words (completed, lease_lost, gone) in one text, separated by spaces; then what claim replies, where it was asked
local total = tonumber(ARGV[1])
local next_at = 2 + 3 * total
local SAME = { completed = true }
local words = {}

-- Ends jobs without opts and result, which leave nothing behind, all at once.
local function remove_plain(ids, bytes)
  redis.call('HDEL', k_running, unpack(ids))
  redis.call('HDEL', k_jobs, unpack(ids))
  if redis.call('HLEN', k_progress) > 0 then
    redis.call('HDEL', k_progress, unpack(ids))
  end
  f[BYTES] = f[BYTES] - bytes
  f[TOTAL.succeeded] = f[TOTAL.succeeded] + #ids
  count(ENDED_MINUTE, #ids)
  is_changed = true
end

-- The length of the payload of a plain hold of this token; false when it is another's, or not plain. What follows the
-- token is mostly the same text, and is read once.
local read_tails = {}
local function plain_bytes(hold, token)
  if string.find(hold, token, 1, true) ~= 1 then
    return false
  end
  local tail = string.sub(hold, #token + 1)
  local bytes = read_tails[tail]
  if bytes == nil then
    bytes = tonumber(string.match(tail, '^\t%d%-(%d+)')) or false
    read_tails[tail] = bytes
  end
  return bytes
end

local function complete_all()
  local ids = {}
  for i = 1, total do
    ids[i] = ARGV[3 * i - 1]
  end
  local holds = redis.call('HMGET', k_running, unpack(ids))
  local may_be_plain = rule(KEEP_SUCCEEDED) ~= 1
  local stopping = redis.call('ZCARD', k_stopping) > 0
  local plain, plain_at, bytes_of_plain = {}, 0, 0
  local last_token, open
  for i = 1, total do
    local id, token, result = ids[i], ARGV[3 * i], ARGV[3 * i + 1]
    local hold = holds[i]
    local bytes = hold and result == '' and may_be_plain and plain_bytes(hold, token)
    if bytes then
      if token ~= last_token then
        last_token, open = token, open_claim(token)
      end
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
      plain_at = plain_at + 1
      plain[plain_at] = id
      bytes_of_plain = bytes_of_plain + bytes
      words[i] = 'completed'
    else
      hold = hold and read_hold(hold)
      if hold and hold.token == token then
        local o = load_opts(id)
        leave_claim(id, token, 'completed')
        succeed(id, o, hold.bytes, issued_at(token), result ~= '' and string.sub(result, 2) or nil)
        words[i] = 'completed'
      end
    end
  end
  if plain_at > 0 then
    remove_plain(plain, bytes_of_plain)
  end
  for i = 1, total do
    words[i] = words[i] or told_before(ids[i], ARGV[3 * i], SAME)
  end
  close_claims()
  prune_step()
end

if total > 0 then
  if exists then
    complete_all()
  else
    for i = 1, total do
      words[i] = 'gone'
    end
  end
end
local answer = table.concat(words, ' ')
if not ARGV[next_at + 7] then
  commit()
  return { answer }
end
local reply = exists and claim(read_request(next_at)) or nothing()
commit()
table.insert(reply, 1, answer)
return reply
