-- Whether a worker lives. The key of a timer is looked at by its kind: in the document's layout it has a plain name, and
-- what else has that name is left alone.
local function has_timer(worker)
  return redis.call('TYPE', timer_key(worker)).ok == 'string'
end

local function is_alive(worker)
  return has_timer(worker) or is_permanent(worker)
end

local function is_noted(worker)
  return redis.call('SISMEMBER', workers, worker) == 1
end

-- Nobody beats for it any more: its timer ran out, or it was failed by somebody who does not know our keys.
local function is_expired(worker)
  if is_alive(worker) then
    return false
  end
  return redis.call('SISMEMBER', expiring, worker) == 1 or redis.call('SISMEMBER', own('workers'), worker) == 1
end
