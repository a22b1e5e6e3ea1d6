-- delete_queue: removes a partition without jobs and schedules. Claims that wait stay registered: the queue may be created again.
-- keys: state settings jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting lined working turns resting recheck groups group_names error_groups error_seen history schedules
-- uses: stats
-- flags: allow-oom
-- args: none
-- reply: `absent` if it does not exist, `jobs` or `schedules` if it has some, else `deleted`
if not exists then
  return 'absent'
end
-- The field with an empty name is no job.
if redis.call('HLEN', k_jobs) - redis.call('HEXISTS', k_jobs, '') ~= 0 then
  return 'jobs'
elseif redis.call('HLEN', k_schedules) > 0 then
  return 'schedules'
end
for priority = 0, PRIORITY_LAST do
  redis.call('UNLINK', k_ready[priority])
end
redis.call('UNLINK', k_state, k_settings, k_jobs, k_opts, k_errors, k_results, k_suspects, k_ghosts, k_scheduled)
redis.call('UNLINK', k_expiring, k_unique, k_running, k_open, k_claims, k_left, k_tokens, k_holds, k_leases, k_owners)
redis.call('UNLINK', k_lined, k_working, k_turns, k_resting, k_recheck, k_groups, k_group_names, k_history, k_error_groups, k_error_seen)
redis.call('UNLINK', k_stopping, k_progress, k_final, k_succeeded, k_dead, k_cancelled, k_tombstones, k_forgetting)
-- If it is created again, no token is issued twice, whatever the clock says then.
redis.call('HSET', k_state, TOKEN_FIELD, digits(stats[LAST_TOKEN]))
return 'deleted'
