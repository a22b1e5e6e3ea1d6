-- The filter of a scan, and which jobs match it.
local COMPARED_BYTES_MAX = 4194304

-- Arguments: state (empty: all), kind (empty, or `=` KIND), payload (empty, or `=` PAYLOAD), cursor, limit.
local function read_filter(at)
  return {
    state = ARGV[at],
    kind = ARGV[at + 1] ~= '' and string.sub(ARGV[at + 1], 2) or nil,
    payload = ARGV[at + 2] ~= '' and string.sub(ARGV[at + 2], 2) or nil,
    cursor = ARGV[at + 3],
    limit = tonumber(ARGV[at + 4]),
  }
end

-- The value also has the opts.
local function may_be_equal(id, filter)
  local more = redis.call('HSTRLEN', k_jobs, id) - #filter.payload
  return more == 1 or (more > 1 and more + #filter.payload <= INLINE_MAX)
end

local function is_equal(id, filter)
  local value = redis.call('HGET', k_jobs, id)
  return string.sub(value, header_length(value) + 1) == filter.payload
end

-- Whether the payloads to read are too large for one call: scripts copy what they read.
local function is_too_large(ids, filter)
  local bytes = 0
  for i = 1, (filter.payload or filter.reads_payloads) and #ids or 0 do
    bytes = bytes + (filter.reads_payloads and redis.call('HSTRLEN', k_jobs, ids[i]) or may_be_equal(ids[i], filter) and #filter.payload or 0)
  end
  return #ids > 1 and bytes - COMPARED_BYTES_MAX > 0
end

local function matches(id, filter)
  if filter.kind then
    local text = '\n' .. (redis.call('HGET', k_opts, id) or read_header(id))
    if not string.find(text, '\n' .. KIND .. filter.kind .. '\n', 1, true) then
      return false
    end
  end
  return not filter.payload or (may_be_equal(id, filter) and is_equal(id, filter))
end
