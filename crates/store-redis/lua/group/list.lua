-- group/list: reads one group, or a page of them, ordered by name.
-- keys: state jobs opts lined working turns resting recheck groups group_names
-- uses: stats opts group/record group/line group/place group/reply
-- flags: no-writes
-- args: `one` and a name; or `page`, the name after which to begin (may be empty) and the limit
-- reply: the name after which the next page begins (empty: done); then the values of lib/group/reply per group
local reply = { '' }
if not uses_groups then
  return reply
end
if ARGV[1] == 'one' then
  group_lib.load_groups({ ARGV[2] })
  if is_shown(groups[ARGV[2]]) then
    add_group(groups[ARGV[2]], reply)
  end
  return reply
end
-- Groups that only wait to be dropped are not shown.
local limit, shown, last = tonumber(ARGV[3]), 0, ARGV[2]
local names = redis.call('ZRANGEBYLEX', k_group_names, last == '' and '-' or '(' .. last, '+', 'LIMIT', 0, limit + GROUPS_PER_CALL)
group_lib.load_groups(names)
for i = 1, #names do
  local group = groups[names[i]]
  if is_shown(group) then
    if shown == limit then
      reply[1] = last
      return reply
    end
    add_group(group, reply)
    shown = shown + 1
  end
  last = names[i]
end
reply[1] = #names == limit + GROUPS_PER_CALL and last or ''
return reply
