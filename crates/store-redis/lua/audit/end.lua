-- audit/end: corrects the ready counts within their bounds, even while workers are active: no lane has more ready jobs than entries, nor fewer than entries that are not stale.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting audit/report audit/mark
-- flags: allow-oom
-- args: nonce of the audit
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
if is_latest_audit(ARGV[1]) then
  redis.call('HDEL', k_state, AUDIT_FIELD)
end
-- The next claim finds out what the fast scripts may do.
stats[FULL_FROM], stats[PRUNE_FROM], is_dirty = 0, 0, true
for priority = 0, PRIORITY_LAST do
  local high = '(' .. digits((priority + 1) * SUSPECT_LANE)
  local most = redis.call('LLEN', k_ready[priority]) + redis.call('ZCOUNT', k_suspects, priority * SUSPECT_LANE, high)
  local before = stats[READY + priority]
  local after = math.max(math.min(before, most), most - stats[STALE_ENTRIES])
  if after ~= before then
    stats[READY + priority], is_changed = after, true
    local change = 'was ' .. digits(before) .. ', counted ' .. digits(after)
    report('stats_wrong', nil, 'ready jobs of priority ' .. priority .. ': ' .. change)
  end
end
commit()
return page_reply('')
