-- What differs from a plain job, as a table by letter.
local LETTERS = { 'n', 'c', 'd', 'p', 'k', 'u', 'r', 'l', 't', 'e', 'w', 'a', 'x', 'g', 'h' }

local function read_opts(text)
  local o = {}
  if text then
    for letter, value in string.gmatch(text, '(%l)([^\n]*)\n') do
      o[letter] = value
    end
  end
  return o
end

local function opts_text(o)
  local lines = {}
  for i = 1, #LETTERS do
    local value = o[LETTERS[i]]
    if value then
      lines[#lines + 1] = LETTERS[i] .. value .. '\n'
    end
  end
  return table.concat(lines)
end

local function load_opts(id)
  return read_opts(redis.call('HGET', k_opts, id))
end

-- Answers whether any are left.
local function save_opts(id, o)
  local text = opts_text(o)
  if text == '' then
    redis.call('HDEL', k_opts, id)
  else
    redis.call('HSET', k_opts, id, text)
  end
  return text ~= ''
end

-- The moment that MS or +MS means; a moment in the past is now.
local function resolve(text)
  if string.byte(text) == 43 then
    return now + tonumber(string.sub(text, 2))
  end
  return math.max(now, tonumber(text))
end

-- Opts of which nothing matters to a claim or to a good end: they are handed on and, at the end, dropped.
local mute = {}
local function is_mute(opts)
  local is = mute[opts]
  if is == nil then
    is = not string.find('\n' .. opts, '\n[nulewaxg]')
    mute[opts] = is
  end
  return is
end
