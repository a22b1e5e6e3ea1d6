-- Collects the repairs of an audit page. Depends on no other part.
local repairs, scanned = {}, 0

-- `code` is one of the table in src/audit/repair.rs, `detail` the variable part of its message.
local function report(code, id, detail)
  repairs[#repairs + 1] = code
  repairs[#repairs + 1] = id or ''
  repairs[#repairs + 1] = detail or ''
end

-- The reply of every page: next cursor (empty: done), number of members scanned, number of repairs, code, id and detail
-- per repair; then the page's own values.
local function page_reply(next_at, extra)
  local reply = { next_at, scanned, #repairs / 3 }
  for i = 1, #repairs do
    reply[3 + i] = repairs[i]
  end
  local at = #reply
  for i = 1, extra and #extra or 0 do
    reply[at + i] = extra[i]
  end
  return reply
end

-- Calls `check` for each member of a page of a hash or sorted set with its value or score; skips the anchor field.
-- Returns the next cursor, empty at the end.
local function scan_page(key, kind, cursor, count, check)
  local found = redis.call(kind == 'zset' and 'ZSCAN' or 'HSCAN', key, cursor, 'COUNT', count)
  local page = found[2]
  for i = 1, #page, 2 do
    if page[i] ~= '' or kind ~= 'anchored' then
      scanned = scanned + 1
      check(page[i], page[i + 1])
    end
  end
  return found[1] == '0' and '' or found[1]
end
