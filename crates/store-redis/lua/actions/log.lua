-- actions/log: adds an operator action to the log, and removes the oldest.
-- keys: workers seen mark actions
-- uses: workers/registry
-- flags: allow-oom
-- args: WHO TAB INTERFACE TAB OP TAB QUEUE TAB TARGET TAB REQUEST; the number of actions to keep
-- reply: logged
begin_write()
local last = redis.call('LINDEX', k_actions, 0)
local number = tonumber(string.match(last or '', '^%d+') or 0) + 1
redis.call('LPUSH', k_actions, digits(number) .. '\t' .. digits(now) .. '\t' .. ARGV[1])
redis.call('LTRIM', k_actions, 0, tonumber(ARGV[2]) - 1)
return 'logged'
