-- Checks whether a worker is alive. Checks the type of the timer's key, because in the document layout a queue may have
-- the same key.
local function has_timer(worker)
  return redis.call('TYPE', timer_key(worker)).ok == 'string'
end

local function is_alive(worker)
  return has_timer(worker) or is_permanent(worker)
end

local function is_registered(worker)
  return redis.call('SISMEMBER', workers, worker) == 1
end

-- Its timer ran out, or it was failed by an original, which does not remove the keys of Windlass.
local function is_expired(worker)
  if is_alive(worker) then
    return false
  end
  return redis.call('SISMEMBER', expiring, worker) == 1 or redis.call('SISMEMBER', own('workers'), worker) == 1
end
