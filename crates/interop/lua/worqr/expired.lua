-- expired: returns one page of dead workers; read-only.
-- flags: allow-oom
-- keys: the workers, their timers, the Windlass workers
-- uses: released or document, liveness
-- args: prefix, `own` (Windlass workers) or `all`, cursor
-- reply: the next cursor (0: last page), then the workers
local PAGE = 100

local from = ARGV[2] == 'own' and own('workers') or expiring
local page = redis.call('SSCAN', from, ARGV[3], 'COUNT', PAGE)
local found = {}
for _, worker in ipairs(page[2]) do
  if is_expired(worker) then
    found[#found + 1] = worker
  end
end
return { page[1], found }
