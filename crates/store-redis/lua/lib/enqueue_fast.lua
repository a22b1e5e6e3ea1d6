-- The short way of an enqueue: jobs that ask for nothing on their way, all at once where they are alike.

-- The lane of a spec; where it only says what is kept as it is said, it is a short one too.
local priorities, is_short_spec = { [''] = 5 }, { [''] = true }
local function priority_of(spec)
  local priority = priorities[spec]
  if not priority then
    local text = '\n' .. spec
    priority = tonumber(string.match(text, '\np(%d)')) or 5
    priorities[spec] = priority
    is_short_spec[spec] = not string.find(text, '\n[ndulew]')
  end
  return priority
end

local some_opts = {}
local total = 0

-- Stores all of them, where none is a duplicate and all have this short spec.
local function store_alike(spec)
  local bytes = 0
  for i = 1, #ids do
    if stored_payloads[i] then
      return false
    end
    bytes = bytes + #ARGV[2 * i + 5]
  end
  redis.call('HSET', k_jobs, unpack(ARGV, FIRST, FIRST + 2 * #ids - 1))
  f[BYTES] = f[BYTES] + bytes
  lanes[priorities[spec]], total = ids, #ids
  for i = 1, spec ~= '' and #ids or 0 do
    some_opts[2 * i - 1], some_opts[2 * i] = ids[i], spec
  end
  for i = 1, is_watched and #ids or 0 do
    announce(ids[i], 'ready')
  end
  return true
end

-- Gathers a job without a closer look.
local function store_short(i, spec)
  local id, payload, lane = ids[i], payload_of(i), lanes[priorities[spec]]
  jobs[#jobs + 1] = id
  jobs[#jobs + 1] = payload
  lane[#lane + 1] = id
  f[BYTES] = f[BYTES] + #payload
  if spec ~= '' then
    some_opts[#some_opts + 1] = id
    some_opts[#some_opts + 1] = spec
  end
  announce(id, 'ready')
  return 'r'
end
