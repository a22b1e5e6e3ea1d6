-- Opts that may have been damaged: lines that make no sense are left out, the others stand.
local COUNT_MAX, HEADERS_MAX = 4294967295, 16384

local function is_empty(value)
  return value == ''
end

local function is_policy(value)
  local attempts, first, most = string.match(value, '^(%d+),(%d+),(%d+),[01]$')
  return attempts and is_number(attempts, COUNT_MAX) and is_number(first) and is_number(most)
end

local function is_headers(value)
  local words = {}
  for word in string.gmatch(value .. '\t', '([^\t]*)\t') do
    words[#words + 1] = word
  end
  for i = 1, #words, 2 do
    if not string.find(words[i], '^[%w%-_%.]+$') or #words[i] > NAME_MAX or not words[i + 1] or not is_plain_text(words[i + 1]) then
      return false
    end
  end
  return #value - #words + 1 <= HEADERS_MAX
end

local function is_count(value)
  return is_number(value, COUNT_MAX)
end

local SOUND = {
  n = is_empty, c = is_number, d = is_number, k = is_name, u = is_name, r = is_policy, l = is_number, t = is_number,
  e = is_number, w = is_empty, x = is_count, g = is_number, h = is_headers,
  p = function(value) return is_number(value, 9) end,
  a = function(value) return is_count(value) and tonumber(value) > 0 end,
}

-- What can be read of opts, and whether that is all of them.
local function sound_opts(text)
  local o, read = {}, 0
  for line in string.gmatch(text or '', '([^\n]*)\n') do
    local letter, value = string.sub(line, 1, 1), string.sub(line, 2)
    if SOUND[letter] and not o[letter] and SOUND[letter](value) then
      o[letter] = value
      read = read + #line + 1
    end
  end
  return o, read == #(text or '')
end
