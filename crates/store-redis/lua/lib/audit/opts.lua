-- Decodes opts that may be damaged: invalid lines are dropped.
local COUNT_MAX, HEADERS_MAX = 4294967295, 16384

local function is_empty(value)
  return value == ''
end

local function is_policy(value)
  local attempts, first, most = string.match(value, '^(%d+),(%d+),(%d+),[01]$')
  return attempts and is_number(attempts, COUNT_MAX) and is_number(first) and is_number(most)
end

local function is_headers(value)
  local fields = {}
  for field in string.gmatch(value .. '\t', '([^\t]*)\t') do
    fields[#fields + 1] = field
  end
  for i = 1, #fields, 2 do
    if not string.find(fields[i], '^[%w%-_%.]+$') or #fields[i] > NAME_MAX or not fields[i + 1] or not is_plain_text(fields[i + 1]) then
      return false
    end
  end
  return #value - #fields + 1 <= HEADERS_MAX
end

local function is_count(value)
  return is_number(value, COUNT_MAX)
end

local VALID = {
  [CUSTOM_ID] = is_empty, [ENQUEUED_AT] = is_number, [DUE_AT] = is_number, [KIND] = is_name, [UNIQUE_KEY] = is_name,
  [UNTIL_START] = is_empty, [UNIQUE_FOR] = is_number,
  [RETRY_POLICY] = is_policy, [DEADLINE] = is_number, [TIMEOUT] = is_number, [EXPIRES_AT] = is_number,
  [KEEP_OUTCOME] = is_empty, [EXPIRIES] = is_count, [GENERATION] = is_number, [IS_SCHEDULED] = is_empty, [HEADERS] = is_headers, [IS_JSON] = is_empty,
  [GROUP] = is_name, [IN_LINE] = function(value) return #value == 20 and string.find(value, '^%d+$') end,
  [PRIORITY] = function(value) return is_number(value, PRIORITY_LAST) end,
  [ATTEMPT] = function(value) return is_count(value) and tonumber(value) > 0 end,
}

-- Returns the valid opts, and whether all lines are valid.
local function decode_valid_opts(text)
  local opts, read = {}, 0
  for line in string.gmatch(text or '', '([^\n]*)\n') do
    local letter, value = string.sub(line, 1, 1), string.sub(line, 2)
    if VALID[letter] and not opts[letter] and VALID[letter](value) then
      opts[letter] = value
      read = read + #line + 1
    end
  end
  return opts, read == #(text or '')
end
