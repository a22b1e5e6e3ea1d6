-- audit/stale: reads a page of the stale-entry records and, after the last page, corrects their total in the stats.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/validate audit/fingerprint
-- flags: allow-oom
-- args: cursor, fingerprint of the first page (empty on the first), stale entries so far
-- reply: as in lib/audit/report, then the fingerprint (`moved` if it changed), stale entries so far, and id and count per record
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
    found[#found + 1] = digits(tonumber(stale or 0))
  end
  sum = sum + tonumber(stale or 0)
end)
local is_unchanged = first == '' or first == fingerprint()
if next_at == '' and is_unchanged and stats[STALE_ENTRIES] ~= sum then
  report('stats_wrong', nil, 'stale entries: was ' .. digits(stats[STALE_ENTRIES]) .. ', counted ' .. digits(sum))
  stats[STALE_ENTRIES], is_changed = sum, true
  commit()
end
local extra = { is_unchanged and fingerprint() or 'moved', digits(sum) }
for i = 1, #found do
  extra[2 + i] = found[i]
end
return page_reply(next_at, extra)
