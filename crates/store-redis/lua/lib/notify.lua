-- Who should look: watchers hear lines, sleepers find markers, never more of them than there are jobs.
local is_watched = f[WATCHED_UNTIL] > now
local heard = {}
local work = 0 -- jobs that a sleeper might now find

local function announce(id, state)
  if is_watched then
    heard[#heard + 1] = state .. ' ' .. id
  end
end

-- Heard by whoever runs the job, and rare: always published.
local function announce_cancel(id)
  heard[#heard + 1] = 'c ' .. id
end

-- After a step back every lease ends at most its own length from now. Pages, longest first: the next step goes on behind
-- those that were left as they are. What was cut has moved down, so that none is passed over.
local function cut_leases()
  local from = is_stepped_back and 0 or f[CUTTING] - 1
  local owners = redis.call('ZREVRANGE', k_leases, from, from + 499, 'WITHSCORES')
  local cut = 0
  for i = 1, #owners, 2 do
    local owner = redis.call('HGET', k_owners, owners[i])
    local length = owner and tonumber(string.match(owner, '^%d+'))
    if length and tonumber(owners[i + 1]) > now + length then
      redis.call('ZADD', k_leases, now + length, owners[i])
      cut = cut + 1
    end
  end
  f[CUTTING] = #owners == 1000 and 1 + from + 500 - cut or 0
  is_changed = true
end

local function wake()
  redis.call('ZREMRANGEBYSCORE', k_sleepers, '-inf', now)
  local woken = redis.call('ZPOPMIN', k_sleepers, math.min(work, 500))
  local markers = {}
  for i = 1, #woken, 2 do
    markers[#markers + 1] = '1'
  end
  if #markers > 0 then
    redis.call('RPUSH', k_wake, unpack(markers))
  end
  if #markers < work then
    f[SLEEPING_UNTIL] = 0
  end
  is_dirty = true
end

-- Ends a step: only one that changed something moves the mark, and is heard of.
local function commit()
  if work > 0 and f[SLEEPING_UNTIL] > now then
    wake()
  end
  if is_changed then
    f[MARK] = now_us
  end
  if is_changed or is_dirty then
    write_figures()
  end
  if work > 0 and is_watched then
    heard[#heard + 1] = 'w'
  end
  if #heard > 0 then
    redis.call('SPUBLISH', k_hints, table.concat(heard, '\n'))
  end
end

if is_stepped_back or f[CUTTING] > 0 then
  if exists then
    guard_all()
    cut_leases()
  end
end
