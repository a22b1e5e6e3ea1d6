-- single_claims: finds single claims made for a worker in a page of the open claims.
-- keys: state running open claims left tokens holds leases owners stopping progress jobs
-- uses: stats limit lease
-- flags: no-writes
-- args: worker, cursor (0: start)
-- reply: next cursor (0: done); 1 if requeued jobs go to the front, else 0; then tokens, possibly with repeats
if not exists then
  return { '0', 0 }
end
local PAGE = 200 -- open claims; claims under a worker lease are skipped

local function is_claimed_for(token, worker)
  local ids = leased_ids(token)
  local first = ids[1] and redis.call('HGET', k_running, ids[1])
  return first and decode_lease(first).worker == worker
end

local found = redis.call('HSCAN', k_open, ARGV[2], 'COUNT', PAGE)
local page = found[2]
local reply = { found[1], rule(REQUEUE) == REQUEUE_FRONT and 1 or 0 }
for i = 1, #page, 2 do
  local token, owner = page[i], string.match(page[i + 1], '^%-?%d+\t%d+\t(.*)$')
  if owner == TOKEN_OWNER .. token and is_claimed_for(token, ARGV[1]) then
    reply[#reply + 1] = token
  end
end
return reply
