-- single_claims: the single claims that hold jobs for a worker, a page of the open claims at a time.
-- keys: state running open claims left tokens holds leases owners stopping progress jobs
-- uses: stats lease
-- flags: no-writes
-- args: worker, cursor (0 to begin)
-- reply: where to go on (0: nowhere); 1 where jobs that come back go to the front, or 0; then tokens, some perhaps twice
if not exists then
  return { '0', 0 }
end
local PAGE = 200 -- claims; those of workers with a lease are passed by

local function holds_for(token, worker)
  local ids = still_held(token)
  local first = ids[1] and redis.call('HGET', k_running, ids[1])
  return first and read_hold(first).worker == worker
end

local found = redis.call('HSCAN', k_open, ARGV[2], 'COUNT', PAGE)
local page = found[2]
local reply = { found[1], rule(REQUEUE) == 0 and 1 or 0 }
for i = 1, #page, 2 do
  local token, owner = page[i], string.match(page[i + 1], '^%-?%d+\t%d+\t(.*)$')
  if owner == 't:' .. token and holds_for(token, ARGV[1]) then
    reply[#reply + 1] = token
  end
end
return reply
