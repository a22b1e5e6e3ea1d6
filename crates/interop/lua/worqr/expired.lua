-- expired: one page of the workers that do not live any more; changes nothing.
-- flags: allow-oom
-- keys: the workers, their timers, the workers of ours
-- uses: released or document, life
-- args: prefix, `own` or `all`: whose workers to go through, cursor
-- reply: the next cursor (0: that was all), then the workers
local AT_ONCE = 100

local from = ARGV[2] == 'own' and own('workers') or expiring
local page = redis.call('SSCAN', from, ARGV[3], 'COUNT', AT_ONCE)
local found = {}
for _, worker in ipairs(page[2]) do
  if is_expired(worker) then
    found[#found + 1] = worker
  end
end
return { page[1], found }
