-- take_back: takes back a page of what an owner holds; its lease ends when that is all.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap
-- flags: allow-oom
-- args: owner, 1 when it was lost (expiries count) or 0 when it gave up
-- reply: how many jobs, and 1 when there are no more
if not exists or not redis.call('ZSCORE', k_leases, ARGV[1]) then
  return { 0, 1 }
end
local taken, is_whole = take_back(ARGV[1], 100, ARGV[2] == '1')
prune_step()
commit()
return { taken, is_whole and 1 or 0 }
