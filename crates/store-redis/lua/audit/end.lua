-- audit/end: what can be said of the figures at once, whoever works meanwhile: no lane has more ready jobs than entries, nor fewer than those that are not stale.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting audit/report audit/mark
-- flags: allow-oom
-- args: nonce of the audit
-- reply: as in lib/audit/report
if not exists then
  return page_reply('')
end
if is_latest(ARGV[1]) then
  redis.call('HDEL', k_state, 'audit')
end
for priority = 0, 9 do
  local high = '(' .. whole((priority + 1) * LANE)
  local most = redis.call('LLEN', k_ready[priority]) + redis.call('ZCOUNT', k_suspects, priority * LANE, high)
  local said = f[READY + priority]
  local right = math.max(math.min(said, most), most - f[GHOSTS])
  if right ~= said then
    f[READY + priority], is_changed = right, true
    local change = 'said ' .. whole(said) .. ', counted ' .. whole(right)
    report('figures_wrong', nil, 'ready jobs of priority ' .. priority .. ': ' .. change)
  end
end
commit()
return page_reply('')
