-- The fast paths of an enqueue: jobs without special options, written all at once if they share one spec.

-- The priority of a spec. A spec that is stored as it is qualifies for the fast path.
local priorities, is_fast_spec = { [''] = PRIORITY_DEFAULT }, { [''] = true }
local function priority_of(spec)
  local priority = priorities[spec]
  if not priority then
    local text = '\n' .. spec
    priority = tonumber(string.match(text, '\n' .. PRIORITY .. '(%d)')) or PRIORITY_DEFAULT
    priorities[spec] = priority
    is_fast_spec[spec] = not string.find(text, '\n[' .. CUSTOM_ID .. DUE_AT .. UNIQUE_KEY .. DEADLINE .. EXPIRES_AT .. KEEP_OUTCOME .. ']')
  end
  return priority
end

local new_opts = {}
local total = 0

-- Stores all jobs, which share this spec. Returns false if one may be a duplicate.
local function store_uniform(spec)
  local bytes = 0
  for i = 1, #ids do
    if stored_payloads[i] then
      return false
    end
    bytes = bytes + #ARGV[2 * i + PAYLOADS]
  end
  redis.call('HSET', k_jobs, unpack(ARGV, FIRST_JOB, FIRST_JOB + 2 * #ids - 1))
  stats[BYTES] = stats[BYTES] + bytes
  lanes[priorities[spec]], total = ids, #ids
  for i = 1, spec ~= '' and #ids or 0 do
    new_opts[2 * i - 1], new_opts[2 * i] = ids[i], spec
  end
  for i = 1, is_watched and #ids or 0 do
    announce(ids[i], 'ready')
  end
  return true
end

-- Stores one job on the fast path.
local function store_fast(i, spec)
  local id, payload, lane = ids[i], payload_of(i), lanes[priorities[spec]]
  jobs[#jobs + 1] = id
  jobs[#jobs + 1] = payload
  lane[#lane + 1] = id
  stats[BYTES] = stats[BYTES] + #payload
  if spec ~= '' then
    new_opts[#new_opts + 1] = id
    new_opts[#new_opts + 1] = spec
  end
  announce(id, 'ready')
  return STORED_READY
end
