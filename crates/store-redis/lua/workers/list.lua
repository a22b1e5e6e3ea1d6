-- list: a page of the workers that were seen lately, in no order. One that stays on record is on some page, and may be on two.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: no-writes
-- args: 0, or where the next page begins
-- reply: where the next page begins (0: there is none), now, then boot, last seen and record of each
local COUNT = 100
local page = redis.call('HSCAN', k_workers, ARGV[1], 'COUNT', COUNT)
local reply = { page[1], whole(now) }
for i = 1, #page[2], 2 do
  local boot = page[2][i]
  local seen = tonumber(redis.call('ZSCORE', k_seen, boot) or '')
  if seen and seen > now - FORGET_AFTER then
    local at = #reply
    reply[at + 1], reply[at + 2], reply[at + 3] = boot, whole(seen), page[2][i + 1]
  end
end
return reply
