-- Validates stored text: readers reject what fails these checks.
local NUMBER_MAX, NAME_MAX = 9007199254740992, 128
local LEADS = {
  '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
}

local function is_utf8(text)
  if string.find(text, '[\128-\255]') then
    for i = 1, #LEADS do
      text = string.gsub(text, LEADS[i], 'x')
    end
  end
  return not string.find(text, '[\128-\255]')
end

local function is_plain_text(text)
  return not string.find(text, '%c') and not string.find(text, '\194[\128-\159]') and is_utf8(text)
end

-- An id, kind, unique key or worker name.
local function is_name(text)
  return #text > 0 and #text <= NAME_MAX and is_plain_text(text)
end

-- A whole number from 0, also used for times.
local function is_number(text, most)
  return string.find(text or '', '^%d+$') and tonumber(text) <= (most or NUMBER_MAX)
end

local function is_token(text)
  local number, nonce = string.match(text or '', '^(%d+)%-([%da-f]+)$')
  return number and #nonce == 8 and is_number(number) and (number == '0' or string.byte(number) ~= ZERO)
end

local function is_owner(text)
  local kind, rest = string.match(text or '', '^(%l:)(.+)$')
  return kind == BOOT_OWNER and is_name(rest) or kind == TOKEN_OWNER and is_token(rest)
end

-- Whether a score is a time.
local function is_time(score)
  local number = tonumber(score)
  return number and number >= 0 and number <= NUMBER_MAX and number == math.floor(number)
end
