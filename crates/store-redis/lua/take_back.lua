-- take_back: requeues a page of the jobs an owner leases; ends the lease after the last page.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting plan limit lease errors attempts tombstone finish extend reap
-- flags: allow-oom
-- args: call slot and number, owner, 1 if the worker was lost (counts an expiry) or 0 if it left
-- reply: number of jobs, and 1 if there are no more
if not exists then
  return { 0, 1 }
elseif not redis.call('ZSCORE', k_leases, ARGV[3]) then
  -- A clock that was set back is noticed all the same.
  call_reply = { 0, 1 }
  commit()
  return call_reply
end
local taken, is_complete = take_back(ARGV[3], PAGE_MAX, ARGV[4] == '1')
prune_after_end()
call_reply = { taken, is_complete and 1 or 0 }
commit()
return call_reply
