-- Opts: how a job differs from the defaults, as a table by letter. They are in the hash `opts`, or, as long as they are as
-- enqueued and matter to no script, in the job's value (`header`).
local LETTERS = {
  CUSTOM_ID, ENQUEUED_AT, DUE_AT, PRIORITY, KIND, UNIQUE_KEY, UNTIL_START, UNIQUE_FOR, RETRY_POLICY, DEADLINE, TIMEOUT, EXPIRES_AT, KEEP_OUTCOME,
  ATTEMPT, EXPIRIES, GENERATION, GROUP, IN_LINE, IS_SCHEDULED, HEADERS, IS_JSON,
}

local function decode_opts(text)
  local opts = {}
  if text then
    for letter, value in string.gmatch(text, '(%l)([^\n]*)\n') do
      opts[letter] = value
    end
  end
  return opts
end

local function encode_opts(opts)
  local lines = {}
  for i = 1, #LETTERS do
    local value = opts[LETTERS[i]]
    if value then
      lines[#lines + 1] = LETTERS[i] .. value .. '\n'
    end
  end
  return table.concat(lines)
end

-- Whether a job may be the reason why its workers end.
local SUSPECT_AFTER = 2
local function is_suspect(opts)
  return tonumber(opts[EXPIRIES] or 0) >= SUSPECT_AFTER
end

-- The length of the opts and the empty line in a value.
local function header_length(value)
  local first = string.byte(value)
  if first == LINE_FEED or first == NEEDS_CARE then
    return 1
  end
  local _, last = string.find(value, '\n\n', 1, true)
  return last or 0
end

-- The opts in a value, as text.
local function header_of(value)
  return value and string.sub(value, 1, math.max(0, header_length(value) - 1)) or ''
end

-- Reads a value only if it may have opts: it may be large.
local function read_header(id)
  return redis.call('HSTRLEN', k_jobs, id) <= INLINE_MAX and header_of(redis.call('HGET', k_jobs, id)) or ''
end

local function payload_length(id)
  local length = redis.call('HSTRLEN', k_jobs, id)
  if length == 0 or length > INLINE_MAX then
    return math.max(0, length - 1)
  end
  return length - header_length(redis.call('HGET', k_jobs, id))
end

-- `text` may be given if it was read already.
local function load_opts(id, text)
  text = text or redis.call('HGET', k_opts, id)
  if text then
    return decode_opts(text)
  end
  local header = read_header(id)
  local opts = decode_opts(header)
  opts.header = header
  return opts
end

-- Whether the value has all opts. That of a job with a chosen id never has.
local function is_inline(opts)
  return not opts[CUSTOM_ID] and encode_opts(opts) == (opts.header or '')
end

local function save_opts(id, opts)
  local text = encode_opts(opts)
  if not opts[CUSTOM_ID] and text == (opts.header or '') then
    redis.call('HDEL', k_opts, id)
  else
    redis.call('HSET', k_opts, id, text)
  end
end

-- Loads the opts of a job that an outcome is reported for. Its expiries are reset: its worker survived it. They stay in the
-- opts as 0, since the fast scripts would not remove the record of its attempts.
local function load_reported_opts(id)
  local opts = load_opts(id)
  if opts[EXPIRIES] and opts[EXPIRIES] ~= '0' then
    opts[EXPIRIES] = '0'
    save_opts(id, opts)
  end
  return opts
end

-- When a job was enqueued: its opts have the time, or its id does.
local function enqueued_at(id, opts)
  if opts[ENQUEUED_AT] then
    return tonumber(opts[ENQUEUED_AT])
  end
  local ms = 0
  for i = 1, 10 do
    local digit = string.find(ULID_DIGITS, string.sub(id, i, i), 1, true)
    ms = ms * 32 + (digit or 1) - 1
  end
  return ms
end

-- The time after a delay, rounded up, so that it is never early. No delay means now.
local function after(ms)
  return ms > 0 and math.ceil(now_us / 1000) + ms or now
end

-- Resolves MS or +MS from now to a time, not before now.
local function resolve(text)
  if string.byte(text) == PLUS then
    return after(tonumber(string.sub(text, 2)))
  end
  return math.max(now, tonumber(text))
end
