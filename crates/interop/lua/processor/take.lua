-- take: dispatches the next job to the caller, as to a worker that has not accepted it yet. Removes ids without a job.
-- reply: taken, id, JSON of the job, score; none; more: call again
local PAGE = 100

for _ = 1, PAGE do
  local id = redis.call('RPOP', queued)
  if not id then
    return { 'none' }
  end
  -- The keys of jobs have no prefix, so the key may belong to something else.
  local json = redis.pcall('HGET', id, 'json')
  if type(json) == 'string' then
    return { 'taken', id, json, dispatch(id) }
  end
end
return { 'more' }
