-- What pages of the audit do to single jobs.
local TIMED = '^[0-7]' .. string.rep('[0-9a-hjkmnp-tv-z]', 9) -- how the id begins that carries a time

local function has_job(id)
  return id ~= '' and redis.call('HEXISTS', k_jobs, id) == 1
end

-- Whether an id or opts say when the job was enqueued.
local function is_dated(id, o)
  return o.c or not o.n and #id == 26 and string.find(id, TIMED)
end

-- The opts of a job, mended first where they cannot be read.
local function mended_opts(id, text)
  if text == nil then
    text = redis.call('HGET', k_opts, id)
  end
  local o, is_whole = sound_opts(text or '')
  local is_missing = not is_dated(id, o)
  if is_missing then
    o.n, o.c = '', whole(now)
  end
  if is_missing or not is_whole then
    save_opts(id, o)
    report('opts_unreadable', id, is_missing and 'when it was enqueued' or 'a line of them')
  end
  return o
end

-- Puts a job that is in no place into its lane, at the back unless said otherwise.
local function put_in_lane(id, o, at_front)
  place_ready(id, o, at_front or false)
  save_opts(id, o)
end

-- Takes an entry out of a ready list without a search: a stale one takes its place, which the claim that meets it drops.
local function blank_out(priority, index)
  local id = 'removed'
  while redis.call('HEXISTS', k_jobs, id) == 1 do
    id = id .. '~'
  end
  redis.call('LSET', k_ready[priority], index, id)
  local stale, generation = string.match(redis.call('HGET', k_ghosts, id) or '', '^(%d+) (%d+)$')
  redis.call('HSET', k_ghosts, id, whole(tonumber(stale or 0) + 1) .. ' ' .. (generation or '0'))
  f[GHOSTS] = f[GHOSTS] + 1
end
