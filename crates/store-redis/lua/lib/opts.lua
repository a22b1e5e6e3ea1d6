-- Opts: how a job differs from the defaults, as a table by letter.
local LETTERS = {
  CUSTOM_ID, ENQUEUED_AT, DUE_AT, PRIORITY, KIND, UNIQUE_KEY, RETRY_POLICY, DEADLINE, TIMEOUT, EXPIRES_AT, KEEP_OUTCOME,
  ATTEMPT, EXPIRIES, GENERATION, HEADERS,
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

local function load_opts(id)
  return decode_opts(redis.call('HGET', k_opts, id))
end

-- Returns whether there are any.
local function save_opts(id, opts)
  local text = encode_opts(opts)
  if text == '' then
    redis.call('HDEL', k_opts, id)
  else
    redis.call('HSET', k_opts, id, text)
  end
  return text ~= ''
end

-- Loads the opts of a job that an outcome is reported for. Its expiries are reset: its worker survived it.
local function load_reported_opts(id)
  local opts = load_opts(id)
  if opts[EXPIRIES] then
    opts[EXPIRIES] = nil
    save_opts(id, opts)
  end
  return opts
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

-- Whether no option matters when the job is claimed or completed: such opts are passed on and, at the end, dropped.
local simple = {}
local function is_simple(encoded_opts)
  local is = simple[encoded_opts]
  if is == nil then
    is = not string.find('\n' .. encoded_opts, '\n[' .. CUSTOM_ID .. UNIQUE_KEY .. DEADLINE .. EXPIRES_AT .. KEEP_OUTCOME .. ATTEMPT .. EXPIRIES .. GENERATION .. ']')
    simple[encoded_opts] = is
  end
  return is
end
