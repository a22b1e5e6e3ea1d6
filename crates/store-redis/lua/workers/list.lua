-- list: reads a page of the workers seen recently, unordered. A worker that stays registered is on at least one page.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: no-writes
-- args: cursor (0: start)
-- reply: next cursor (0: done), now, then boot, last seen and record per worker
local COUNT = 100
local page = redis.call('HSCAN', k_workers, ARGV[1], 'COUNT', COUNT)
local reply = { page[1], digits(now) }
for i = 1, #page[2], 2 do
  local boot = page[2][i]
  local seen = tonumber(redis.call('ZSCORE', k_seen, boot) or '')
  if seen and seen > now - FORGET_AFTER then
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = boot, digits(seen), page[2][i + 1]
  end
end
return reply
