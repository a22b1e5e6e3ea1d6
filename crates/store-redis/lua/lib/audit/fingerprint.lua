-- A stamp of the figures: as long as it is the same, no job was added, ended, claimed or moved.
local STAMPED = { 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }

local function stamp()
  local parts = {}
  for i = 1, #STAMPED do
    parts[i] = whole(f[STAMPED[i]])
  end
  for i = READY, BASE + 9 do
    parts[#parts + 1] = whole(f[i])
  end
  return string.sub(redis.sha1hex(table.concat(parts, ' ')), 1, 16)
end
