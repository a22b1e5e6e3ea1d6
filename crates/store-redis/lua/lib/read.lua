-- Appends the twelve stored values of a job to a reply, at the positions JOB_ID to JOB_STOPPING.
local function read_job(id, with_payload, with_result, reply)
  local state, final = state_of(id)
  if not state then
    return false
  end
  local lease = state == 'running' and redis.call('HGET', k_running, id)
  local token = lease and string.match(lease, '^[^\t]+')
  local open = token and redis.call('HGET', k_open, token)
  local owner = open and string.match(open, '^%-?%d+\t%d+\t(.*)$')
  local at = #reply
  reply[at + JOB_ID] = id
  reply[at + JOB_STATE] = state
  reply[at + JOB_PAYLOAD] = with_payload and redis.call('HGET', k_jobs, id) or false
  reply[at + JOB_OPTS] = redis.call('HGET', k_opts, id) or not with_payload and read_header(id) or ''
  reply[at + JOB_LEASE] = lease
  reply[at + JOB_OWNER] = owner or false
  reply[at + JOB_END] = final or false
  reply[at + JOB_DUE] = state == 'scheduled' and redis.call('ZSCORE', k_scheduled, id) or false
  local errors = redis.call('HGET', k_errors, id)
  reply[at + JOB_ERROR] = with_result and errors or errors_lib.without_records(errors)
  reply[at + JOB_RESULT] = with_result and redis.call('HGET', k_results, id) or false
  reply[at + JOB_PROGRESS] = state == 'running' and redis.call('HGET', k_progress, id) or false
  reply[at + JOB_STOPPING] = owner and redis.call('ZSCORE', k_stopping, owner .. '\t' .. id) or false
  return true
end
