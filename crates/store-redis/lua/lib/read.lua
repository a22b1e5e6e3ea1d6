-- Everything known of jobs, raw: id, state, payload, opts, hold, owner, final, due, error, result, progress, stopping.
local function look(id, is_whole, reply)
  local state, final = state_of(id)
  if not state then
    return false
  end
  local hold = state == 'running' and redis.call('HGET', k_running, id)
  local token = hold and string.match(hold, '^[^\t]+')
  local open = token and redis.call('HGET', k_open, token)
  local owner = open and string.match(open, '^%-?%d+\t%d+\t(.*)$')
  local at = #reply
  reply[at + 1] = id
  reply[at + 2] = state
  reply[at + 3] = is_whole and redis.call('HGET', k_jobs, id) or false
  reply[at + 4] = redis.call('HGET', k_opts, id) or ''
  reply[at + 5] = hold
  reply[at + 6] = owner or false
  reply[at + 7] = final or false
  reply[at + 8] = state == 'scheduled' and redis.call('ZSCORE', k_scheduled, id) or false
  reply[at + 9] = redis.call('HGET', k_errors, id)
  reply[at + 10] = is_whole and redis.call('HGET', k_results, id) or false
  reply[at + 11] = state == 'running' and redis.call('HGET', k_progress, id) or false
  reply[at + 12] = owner and redis.call('ZSCORE', k_stopping, owner .. '\t' .. id) or false
  return true
end
