-- Adds a page of the lines of groups, after a position: the first 18 digits of the place in the line, and the group. Returns the
-- next position (nil: done).
local function add_lines(ids, position, limit)
  local place, group = string.match(position or '', '^(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)(.*)$')
  local low = place and '(' .. group .. '\t' .. place .. ':' or '-'
  local members = uses_groups and redis.call('ZRANGEBYLEX', k_lined, low, '+', 'LIMIT', 0, limit + 1) or {}
  for i = 1, math.min(limit, #members) do
    group, place, ids[#ids + 1] = string.match(members[i], '^([^\t]*)\t(%d+)\t(.*)$')
  end
  if #members <= limit then
    return nil
  end
  return limit > 0 and string.sub(place, 1, 18) .. group or ''
end
