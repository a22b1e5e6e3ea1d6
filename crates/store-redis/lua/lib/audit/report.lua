-- What a page of the audit found. Needs nothing but the keys.
local repairs, looked = {}, 0

-- `fault` is a word of the table in src/audit/fault.rs, `detail` what its sentence leaves open.
local function report(fault, id, detail)
  repairs[#repairs + 1] = fault
  repairs[#repairs + 1] = id or ''
  repairs[#repairs + 1] = detail or ''
end

-- The reply of every page: where to go on (empty: nowhere), how many members were looked at, how many repairs, for each
-- its fault, id and detail; then whatever else this page tells.
local function page_reply(next_at, rest)
  local reply = { next_at, looked, #repairs / 3 }
  for i = 1, #repairs do
    reply[3 + i] = repairs[i]
  end
  local at = #reply
  for i = 1, rest and #rest or 0 do
    reply[at + i] = rest[i]
  end
  return reply
end

-- Meets a page of a hash or a sorted set, each member with its value or score; the anchor of a hash is none.
-- Answers where to go on, empty at the end.
local function scan_page(key, kind, cursor, count, meet)
  local found = redis.call(kind == 'zset' and 'ZSCAN' or 'HSCAN', key, cursor, 'COUNT', count)
  local page = found[2]
  for i = 1, #page, 2 do
    if page[i] ~= '' or kind ~= 'anchored' then
      looked = looked + 1
      meet(page[i], page[i + 1])
    end
  end
  return found[1] == '0' and '' or found[1]
end
