-- audit/open_claims: every open claim holds as many jobs as it says, under its owner's lease; one that holds none is finished.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease audit/report audit/validate audit/claim
-- flags: allow-oom
-- args: cursor
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
local COUNT = 3 -- claims, of up to a hundred jobs each

local function finish(token, open)
  redis.call('HDEL', k_open, token)
  redis.call('ZADD', k_tokens, now, token)
  redis.call('ZREM', k_holds, open.owner .. '\t' .. token)
  if open.owner == 't:' .. token then
    redis.call('ZREM', k_leases, open.owner)
    redis.call('HDEL', k_owners, open.owner)
  end
end

-- A claim without a lease would never be taken back: it gets one, so that a worker that lives may go on.
local function check_lease(token, open)
  local record = redis.call('HGET', k_owners, open.owner)
  local is_sound, seq = is_sound_owner(record)
  local length = is_sound and string.match(record, '^%d+') or whole(LEASE_DEFAULT)
  if not redis.call('ZSCORE', k_leases, open.owner) then
    redis.call('ZADD', k_leases, now + tonumber(length), open.owner)
    report('claim_without_lease', nil, token)
  end
  local is_boot = string.sub(open.owner, 1, 2) == 'b:'
  if not is_sound or (is_boot and open.seq > (seq or -1)) then
    -- The latest claim is what a repeated call is answered with.
    local rest = is_sound and string.match(record, '^%d+\t%d*\t[^\t]*(\t.*)$') or '\t\t'
    local last = is_boot and whole(open.seq) .. '\t' .. token or '\t'
    redis.call('HSET', k_owners, open.owner, length .. '\t' .. last .. rest)
    report('owner_wrong', nil, open.owner)
  end
end

local function check_record(token, open)
  local record = record_of(token)
  if record and (record.owner ~= open.owner or record.seq ~= open.seq) then
    local head = whole(open.seq) .. '\t' .. whole(record.size) .. '\t' .. open.owner
    redis.call('HSET', k_claims, token, head .. string.match(record.text, '\n.*$'))
    report('claim_unrecorded', nil, token)
  end
  if redis.call('ZSCORE', k_tokens, token) ~= 'inf' then
    redis.call('ZADD', k_tokens, '+inf', token)
    report('token_wrong', nil, token)
  end
  local member = open.owner .. '\t' .. token
  if string.sub(open.owner, 1, 2) == 'b:' and not redis.call('ZSCORE', k_holds, member) then
    redis.call('ZADD', k_holds, 0, member)
    report('claim_unowned', nil, token)
  end
  local number = tonumber(string.match(token, '^%d+'))
  if number > f[LAST_TOKEN] then
    f[LAST_TOKEN] = number
    report('figures_wrong', nil, 'the last token')
  end
end

-- Jobs that the claim lost without a word: it lists them, nothing says how they left, and they are not ended.
local function note_all_lost(token)
  local left = '\n' .. (redis.call('HGET', k_left, token) or '')
  local ids = claimed_ids(token)
  for i = 1, #ids do
    local state = state_of(ids[i])
    local is_live = state == 'ready' or state == 'scheduled' or (state == 'running' and not held(ids[i], token))
    if is_live and not string.find(left, ' ' .. ids[i] .. '\n', 1, true) then
      note_lost(ids[i], token)
    end
  end
end

local function meet(token)
  local open = sound_open(token)
  if not open then
    return
  end
  local ids, size = still_held(token)
  looked = looked + size
  if #ids ~= open.remaining then
    report('claim_miscounted', nil, token .. ' said ' .. whole(open.remaining) .. ', holds ' .. #ids)
    if #ids < open.remaining then
      note_all_lost(token)
    end
    redis.call('HSET', k_open, token, #ids .. '\t' .. whole(open.seq) .. '\t' .. open.owner)
  end
  if #ids == 0 then
    if open.remaining == 0 then
      report('claim_miscounted', nil, token .. ' was open and held nothing')
    end
    finish(token, open)
  else
    check_record(token, open)
    check_lease(token, open)
  end
end

local next_at = scan_page(k_open, 'anchored', ARGV[1], COUNT, meet)
is_changed = is_changed or #repairs > 0
commit()
return page_reply(next_at)
