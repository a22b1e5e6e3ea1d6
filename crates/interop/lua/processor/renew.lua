-- renew: dispatches a job to the caller again, if it still has it.
-- flags: allow-oom
-- args: id, score
-- reply: the new score, or nil
local id, score = ARGV[2], ARGV[3]
if redis.call('ZSCORE', dispatched, id) ~= score then
  return false
end
return dispatch(id)
