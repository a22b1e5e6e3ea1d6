-- take: moves the next due job to unackedJobs. Removes ids without a job.
-- args: ticket of this call, `due`: only due jobs, or `any`: then jobs of the backlog
-- reply: taken, id, payload, due time, pickup time, score in the backlog if it was there; none; more: call again
local ticket, is_any = ARGV[2], ARGV[3] == 'any'
local PAGE = 100

for _ = 1, PAGE do
  local id, score = redis.call('LMOVE', due, unacked, 'RIGHT', 'LEFT'), false
  if not id and is_any then
    id, score = unpack(redis.call('ZPOPMIN', jobs))
    if id then
      redis.call('LPUSH', unacked, id)
    end
  end
  if not id then
    return { 'none' }
  end
  if is_job(id) then
    redis.call('HSET', job_key(id), 'pickupTime', seconds, 'ticket', ticket)
    redis.call('HDEL', marks, id)
    local payload, at = unpack(redis.call('HMGET', job_key(id), 'payload', 'dueTime'))
    return { 'taken', id, payload, at or '', seconds, score or '' }
  end
  redis.call('LREM', unacked, 1, id)
end
return { 'more' }
