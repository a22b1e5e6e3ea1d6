-- Decides the state of a job that several keys name: a lease wins over an end record, that over `scheduled`.
local KEYS_OF_ENDS = { succeeded = k_succeeded, dead = k_dead, cancelled = k_cancelled }
local ENDS = { 'succeeded', 'dead', 'cancelled' }
local REASONS = { exhausted = true, permanent = true, deadline = true, expired = true, poison = true }

-- Decodes an end record: state and end time. Returns nil if it is unreadable.
local function decode_end(text)
  local state, finished, started, reason = string.match(text or '', '^(%l+)\t(%d+)\t(%d*)\t(%l*)$')
  local is_reasoned = state == 'dead' and REASONS[reason] or state ~= 'dead' and reason == ''
  if KEYS_OF_ENDS[state] and is_number(finished) and (started == '' or is_number(started)) and is_reasoned then
    return state, finished
  end
end

-- Restores the end record of a job if another key proves how it ended.
local function restore_end(id, at, seen)
  for i = 1, #ENDS do
    local score, state = seen[ENDS[i]][at], ENDS[i]
    local tombstone = score and redis.call('HGET', k_tombstones, id) or ''
    local has_result = state == 'succeeded' and redis.call('HEXISTS', k_results, id) == 1
    if score and (seen.are_ends_lost or has_result or string.match(tombstone, '^%l+') == state) then
      local finished = is_time(score) and digits(tonumber(score)) or digits(now)
      redis.call('HSET', k_final, id, state .. '\t' .. finished .. '\t\t' .. (state == 'dead' and 'permanent' or ''))
      report('end_state_wrong', id, state)
      return state, finished
    end
  end
end

-- Keeps an ended job only in the set of its end state, and any other job in none of these sets.
local function repaired_state(id, at, seen)
  local state, finished = decode_end(seen.final[at])
  if seen.running[at] then
    state = 'running'
  elseif not state and not seen.scheduled[at] then
    state, finished = restore_end(id, at, seen)
  end
  if seen.final[at] and not KEYS_OF_ENDS[state] then
    redis.call('HDEL', k_final, id)
    report('in_two_states', id, 'final and ' .. (state or 'waiting'))
  end
  for i = 1, #ENDS do
    local score = seen[ENDS[i]][at]
    if state == ENDS[i] and tonumber(score or -1) ~= tonumber(finished) then
      redis.call('ZADD', KEYS_OF_ENDS[state], finished, id)
      report('end_state_wrong', id, state)
    elseif score and state ~= ENDS[i] then
      redis.call('ZREM', KEYS_OF_ENDS[ENDS[i]], id)
      report('in_two_states', id, ENDS[i] .. ' and ' .. (state or 'waiting'))
    end
  end
  return state or seen.scheduled[at] and 'scheduled' or 'ready'
end
