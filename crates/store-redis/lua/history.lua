-- history: reads the history of the queue.
-- keys: state scheduled running dead history
-- uses: stats limit history
-- flags: no-writes
-- args: number of minutes
-- reply: an empty list if the queue does not exist; else now, the open minute (empty: none), the counts and levels of its row, then the rows of the last minutes before it
if not exists then
  return {}
end
local reply = { now, redis.call('HGET', k_state, HISTORY_FIELD) or '' }
for _, numbers in ipairs({ history_lib.counts(), history_lib.levels(), redis.call('LRANGE', k_history, -ARGV[1], -1) }) do
  for i = 1, #numbers do
    reply[#reply + 1] = numbers[i]
  end
end
return reply
