-- The history of the queue, by the rule in crates/core/src/history.rs: claims and maintenance take samples. `state` has the
-- minute that is not over, as the text of an `OpenMinute`; the list `history` has the others, as texts of `HistoryRow`.
local history_lib = {}
do -- a script may have 200 locals at a time
  local HISTORY_MINUTES, DROPPED_AT_ONCE = 1440, 2
  local BOUNDS, LAST_BUCKET = { 1, 2, 5 }, 38

  -- Counts since the queue was created: enqueued, succeeded, failed, dead, cancelled, rescued.
  function history_lib.counts()
    local failed = tonumber(redis.call('HGET', k_state, FAILED_FIELD) or 0) or 0
    return { stats[TOTAL_ENQUEUED], stats[TOTAL_SUCCEEDED], failed, stats[TOTAL_DEAD], stats[TOTAL_CANCELLED], stats[TOTAL_RESCUED] }
  end

  -- Jobs now: ready, scheduled, running, dead.
  function history_lib.levels()
    local pending = has_schedules and redis.call('ZCOUNT', k_scheduled, PENDING_SCORE, PENDING_SCORE) or 0
    local running = redis.call('HLEN', k_running) - redis.call('HEXISTS', k_running, '')
    return { ready_total(), redis.call('ZCARD', k_scheduled) - pending, running, redis.call('ZCARD', k_dead) }
  end

  local function joined(numbers)
    local texts = {}
    for i = 1, #numbers do
      texts[i] = digits(numbers[i])
    end
    return table.concat(texts, ' ')
  end

  local function minute_of(row)
    return tonumber(string.match(row, '^%d+') or 0)
  end

  -- Adds the row of a minute that is over, and drops old ones. A key of another type loses rows, which an audit reports:
  -- it must not stop the queue.
  local function close_minute(minute, counts, base, waits, this_minute)
    local i = 0
    for number in string.gmatch(base, '%d+') do
      i = i + 1
      counts[i] = math.max(0, counts[i] - number)
    end
    redis.pcall('RPUSH', k_history, digits(minute) .. ' ' .. joined(counts) .. ' ' .. joined(history_lib.levels()) .. waits)
    for _ = 1, DROPPED_AT_ONCE do
      local first = redis.pcall('LINDEX', k_history, 0)
      if type(first) == 'string' and minute_of(first) <= this_minute - HISTORY_MINUTES then
        redis.call('LPOP', k_history)
      end
    end
  end

  -- Drops the rows that are not before a minute: the clock was set back.
  local function drop_from(minute)
    local last = redis.pcall('LINDEX', k_history, -1)
    while type(last) == 'string' and minute_of(last) - minute >= 0 do
      redis.call('RPOP', k_history)
      last = redis.call('LINDEX', k_history, -1)
    end
  end

  local function add_wait(waits, job)
    local opts = decode_opts(job.encoded_opts)
    local ms = now - math.max(enqueued_at(job.id, opts), tonumber(opts[DUE_AT] or 0))
    local bucket = 0
    while bucket < LAST_BUCKET and ms > BOUNDS[bucket % 3 + 1] * 10 ^ math.floor(bucket / 3) do
      bucket = bucket + 1
    end
    local field = ' ' .. bucket .. ':'
    local count = tonumber(string.match(waits, field .. '(%d+)'))
    return count and string.gsub(waits, field .. count, field .. count + 1) or waits .. field .. '1'
  end

  -- Takes a sample if one is due: in the first call of each minute, and in the first of each second that hands out jobs, of
  -- which `first` is the first. Returns whether one was taken in this second.
  function history_lib.sample(first)
    local saved = redis.call('HGET', k_state, HISTORY_FIELD) or ''
    local second, sampled = math.floor(now / 1000), tonumber(string.match(saved, '^%d+') or 0)
    local minute, open = math.floor(second / 60), math.floor(sampled / 60)
    local passed = minute - open
    if passed == 0 and (not first or second == sampled) then
      return second == sampled
    end
    local base, waits = string.match(saved, '^%d+ (%d+ %d+ %d+ %d+ %d+ %d+)(.*)$')
    local counts = history_lib.counts()
    local current = joined(counts)
    if not base then
      -- An earlier version created the queue: what it counted is not part of the history.
      base, waits = current, ''
    elseif sampled > 0 and passed > 0 then
      close_minute(open, counts, base, waits, minute)
      base, waits = current, ''
    elseif passed < 0 then
      drop_from(minute)
    end
    waits = first and add_wait(waits, first) or waits
    redis.call('HSET', k_state, HISTORY_FIELD, digits(second) .. ' ' .. base .. waits)
    is_changed = true
    return true
  end
end
