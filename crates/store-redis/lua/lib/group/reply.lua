-- Adds the values of a group to a reply: name, ready jobs, slots, paused, until when it rests (ms) and when its rate opens (ms),
-- each 0 if that is not in the future, then its own limits as stored.
local function add_group(group, reply)
  local _, tolerance = group_lib.rate_of(group)
  local opens = tolerance and group.rate_next - tolerance or 0
  local values = {
    group.name, group.ready, group.slots, group.is_paused and 1 or 0, group.rest_until > now and group.rest_until or 0,
    opens - now_us > 0 and math.ceil(opens / 1000) or 0,
    group_lib.limit_text(group.max_running), group_lib.limit_text(group.rate_count), group_lib.limit_text(group.rate_period), group_lib.limit_text(group.burst),
  }
  for i = 1, #values do
    reply[#reply + 1] = values[i]
  end
end

-- Whether there is anything to show of a group.
local function is_shown(group)
  local _, tolerance = group_lib.rate_of(group)
  return group.ready + group.slots > 0 or group.is_paused or group.rest_until > now or group.max_running or group.rate_count or group.burst
    or (tolerance and group.rate_next - tolerance > now_us) or false
end
