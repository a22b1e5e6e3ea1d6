-- actions/list: reads a page of the log of operator actions, newest first. Numbers are consecutive, so a number is a position.
-- keys: workers seen mark actions
-- uses: workers/registry
-- flags: no-writes
-- args: the number of the last action on the previous page (empty: start), limit
-- reply: the actions, each NUMBER TAB TIME TAB and the text of log
local from = 0
if ARGV[1] ~= '' then
  local last = redis.call('LINDEX', k_actions, 0)
  from = math.max(0, tonumber(string.match(last or '', '^%d+') or 0) - tonumber(ARGV[1]) + 1)
end
return redis.call('LRANGE', k_actions, from, from + tonumber(ARGV[2]) - 1)
