-- cancel: cancels waiting jobs and asks running ones to stop.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting plans lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting plan limit lease tombstone finish cancel byte_order filter group/page scan change
-- flags: allow-oom
-- args: call slot and number; `ids`, count, ids; or `key`, unique key; or `scan` and a filter (read_filter in lib/filter)
-- reply: next cursor (empty: done), the number of jobs examined (0 unless it scanned); then per job its id and a result: done, will_stop, not_found, `conflict ID`, or the state that does not allow it
return change_target(cancel)
