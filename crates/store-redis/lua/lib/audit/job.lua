-- Repairs of single jobs.
local TIMED = '^[0-7]' .. string.rep('[0-9a-hjkmnp-tv-z]', 9) -- start of an id that contains a time

local function has_job(id)
  return id ~= '' and redis.call('HEXISTS', k_jobs, id) == 1
end

-- Whether the id or the opts contain the time the job was enqueued.
local function is_dated(id, opts)
  return opts[ENQUEUED_AT] or not opts[CUSTOM_ID] and #id == 26 and string.find(id, TIMED)
end

-- The opts of a job, repaired first if they are unreadable.
local function repaired_opts(id, text)
  text = text or redis.call('HGET', k_opts, id)
  local header = not text and read_header(id) or nil
  local opts, is_complete = decode_valid_opts(text or header)
  opts.header = header
  if header and not is_complete then
    local value = redis.call('HGET', k_jobs, id)
    redis.call('HSET', k_jobs, id, '\n' .. string.sub(value, header_length(value) + 1))
    opts.header = nil
  end
  local schedule = opts[IS_SCHEDULED] and string.match(id, '^[%w%._:%-]+@') or ''
  if opts[IS_SCHEDULED] and (schedule == '' or #schedule > 101) then
    opts[IS_SCHEDULED], is_complete = nil, false
  end
  local is_missing = not is_dated(id, opts)
  if is_missing then
    opts[CUSTOM_ID], opts[ENQUEUED_AT] = '', digits(now)
  end
  if is_missing or not is_complete then
    save_opts(id, opts)
    report('opts_unreadable', id, is_missing and 'enqueue time missing' or 'invalid line')
  end
  return opts
end

-- Adds a job to its lane (default: at the back) and saves its opts.
local function add_to_lane(id, opts, at_front)
  add_ready(id, opts, at_front or false)
  save_opts(id, opts)
end

-- Removes an entry of a ready list without a search: replaces it by a stale one, which the next claim drops.
local function blank_entry(priority, index)
  local id = 'removed'
  while redis.call('HEXISTS', k_jobs, id) == 1 do
    id = id .. '~'
  end
  redis.call('LSET', k_ready[priority], index, id)
  local stale, generation = string.match(redis.call('HGET', k_ghosts, id) or '', '^(%d+) (%d+)$')
  redis.call('HSET', k_ghosts, id, digits(tonumber(stale or 0) + 1) .. ' ' .. (generation or '0'))
  stats[STALE_ENTRIES] = stats[STALE_ENTRIES] + 1
end
