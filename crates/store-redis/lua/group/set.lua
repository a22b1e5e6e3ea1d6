-- group/set: changes the limits of a group, pauses or resumes it.
-- keys: state jobs opts leases owners lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats notify opts group/record group/line group/place group/reply
-- flags:
-- args: name; 1 to pause it, 0 to resume it (empty: neither); then maximum number of slots, number and period (us) of the rate, and burst: empty to leave it, DEFAULT_LIMIT to follow the settings of the queue, -1 for none
-- reply: `absent` if the queue does not exist; `burst COUNT PERIOD BURST` if that burst is too large for the rate; else the values of lib/group/reply
if not exists then
  return 'absent'
end
group_lib.start_groups()
local group = group_lib.touch_group(ARGV[1])

local function change(name, text)
  if text ~= '' then
    group[name] = tonumber(text)
  end
end

change('max_running', ARGV[3])
change('rate_count', ARGV[4])
change('rate_period', ARGV[5])
change('burst', ARGV[6])
local interval, tolerance, period = group_lib.rate_of(group)
if interval and interval + tolerance > BURST_MAX then
  touched = {}
  commit()
  return string.format('burst %d %s %d', group.rate_count or rule(GROUP_RATE_COUNT), digits(period), group.burst or rule(GROUP_BURST))
end
if ARGV[2] ~= '' then
  group.is_paused = ARGV[2] == '1'
  group.rest_until = group.is_paused and group.rest_until or 0
end
if group.ready > 0 then
  group_lib.cut_rate_of(group, now_us)
end
work, is_changed = math.max(1, group.ready), true
local reply = {}
add_group(group, reply)
commit()
return reply
