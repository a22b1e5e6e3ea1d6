-- A fingerprint of the stats: while it is the same, no job was added, ended, claimed or moved.
local FINGERPRINTED = {
  LAST_TOKEN, STALE_ENTRIES, BYTES, SUCCEEDED_BYTES, DEAD_BYTES, CANCELLED_BYTES,
  TOTAL_ENQUEUED, TOTAL_SUCCEEDED, TOTAL_DEAD, TOTAL_CANCELLED, TOTAL_RESCUED,
}

local function fingerprint()
  local parts = {}
  for i = 1, #FINGERPRINTED do
    parts[i] = digits(stats[FINGERPRINTED[i]])
  end
  for i = READY, LIST_BASE + PRIORITY_LAST do
    parts[#parts + 1] = digits(stats[i])
  end
  for i = 1, #group_numbers do
    parts[#parts + 1] = digits(group_numbers[i])
  end
  return string.sub(redis.sha1hex(table.concat(parts, ' ')), 1, 16)
end
