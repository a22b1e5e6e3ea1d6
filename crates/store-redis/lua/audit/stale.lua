-- audit/stale: a page of the records of stale entries, and at the end whether there are as many as the figures say.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting audit/report audit/validate audit/fingerprint
-- flags: allow-oom
-- args: cursor, stamp of the first page (empty on that), stale entries on earlier pages
-- reply: as in lib/audit/report, then the stamp (`moved` when it is another by now), stale entries so far, and of each record its id and count
if not exists then
  return page_reply('', { '', 0 })
end
local COUNT = 200
local first, sum = ARGV[2], tonumber(ARGV[3])
local found = {}
local next_at = scan_page(k_ghosts, 'hash', ARGV[1], COUNT, function(id, text)
  local stale = string.match(text, '^(%d+) ')
  if is_name(id) then
    found[#found + 1] = id
    found[#found + 1] = whole(tonumber(stale or 0))
  end
  sum = sum + tonumber(stale or 0)
end)
local is_still = first == '' or first == stamp()
if next_at == '' and is_still and f[GHOSTS] ~= sum then
  report('figures_wrong', nil, 'stale entries: said ' .. whole(f[GHOSTS]) .. ', counted ' .. whole(sum))
  f[GHOSTS], is_changed = sum, true
  commit()
end
local rest = { is_still and stamp() or 'moved', whole(sum) }
for i = 1, #found do
  rest[2 + i] = found[i]
end
return page_reply(next_at, rest)
