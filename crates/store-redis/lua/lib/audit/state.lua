-- The one state a job is in, whatever places name it: a hold first, then an end, then the schedule.
local KEYS_OF_ENDS = { succeeded = k_succeeded, dead = k_dead, cancelled = k_cancelled }
local ENDS = { 'succeeded', 'dead', 'cancelled' }
local REASONS = { exhausted = true, permanent = true, deadline = true, expired = true, poison = true }

-- What is kept of an end, where it can be read: state, and the time of the end.
local function read_end(text)
  local state, finished, started, reason = string.match(text or '', '^(%l+)\t(%d+)\t(%d*)\t(%l*)$')
  local is_reasoned = state == 'dead' and REASONS[reason] or state ~= 'dead' and reason == ''
  if KEYS_OF_ENDS[state] and is_number(finished) and (started == '' or is_number(started)) and is_reasoned then
    return state, finished
  end
end

-- Writes down again how a job ended, where something else bears witness to it.
local function end_again(id, at, seen)
  for i = 1, #ENDS do
    local score, state = seen[ENDS[i]][at], ENDS[i]
    local tombstone = score and redis.call('HGET', k_tombstones, id) or ''
    local has_result = state == 'succeeded' and redis.call('HEXISTS', k_results, id) == 1
    if score and (seen.are_ends_lost or has_result or string.match(tombstone, '^%l+') == state) then
      local finished = is_time(score) and whole(tonumber(score)) or whole(now)
      redis.call('HSET', k_final, id, state .. '\t' .. finished .. '\t\t' .. (state == 'dead' and 'permanent' or ''))
      report('end_wrong', id, state)
      return state, finished
    end
  end
end

-- Of an ended job only the place of its end is kept, of another none.
local function sound_state(id, at, seen)
  local state, finished = read_end(seen.final[at])
  if seen.running[at] then
    state = 'running'
  elseif not state and not seen.scheduled[at] then
    state, finished = end_again(id, at, seen)
  end
  if seen.final[at] and not KEYS_OF_ENDS[state] then
    redis.call('HDEL', k_final, id)
    report('in_two_places', id, 'final and ' .. (state or 'waiting'))
  end
  for i = 1, #ENDS do
    local score = seen[ENDS[i]][at]
    if state == ENDS[i] and tonumber(score or -1) ~= tonumber(finished) then
      redis.call('ZADD', KEYS_OF_ENDS[state], finished, id)
      report('end_wrong', id, state)
    elseif score and state ~= ENDS[i] then
      redis.call('ZREM', KEYS_OF_ENDS[ENDS[i]], id)
      report('in_two_places', id, ENDS[i] .. ' and ' .. (state or 'waiting'))
    end
  end
  return state or seen.scheduled[at] and 'scheduled' or 'ready'
end
