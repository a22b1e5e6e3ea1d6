-- complete: completes jobs and, in the same call, optionally claims more.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting schedules plans firing refilling lined working turns resting recheck groups group_names history sleepers wake hints
-- uses: stats notify opts state group/record group/line group/place waiting plan limit history lease errors attempts tombstone finish cancel schedule/definition schedule/enqueue schedule/fire extend reap stale pick group/turn group/pick record_claim waiters claim
-- flags: allow-oom
-- args: number of claims; per claim its token and number of jobs; the ids (each once), claim by claim; number of results; per result the position of its id and its bytes; then the arguments of claim, optional
-- reply: `conflict` if the claim is at most once and the number of running jobs is limited; else statuses (completed, lease_lost, gone) separated by spaces, or from fast/complete a single `completed` for all; then the reply of claim, if requested
local claims = tonumber(ARGV[1])
local first, total = 2 + 2 * claims, 0
for i = 1, claims do
  total = total + tonumber(ARGV[2 * i + 1])
end
local last = first + total - 1
local results, results_end = {}, last + 1 + 2 * tonumber(ARGV[last + 1])
for at = last + 2, results_end, 2 do
  results[tonumber(ARGV[at])] = ARGV[at + 1]
end
local REPEATABLE = { completed = true }

local function complete_one(id, token, result)
  local lease = lease_of(id, token)
  if not lease then
    return repeated_status(id, token, REPEATABLE)
  end
  local opts = load_reported_opts(id)
  leave_claim(id, token, 'completed', opts)
  end_succeeded(id, opts, lease.bytes, issued_at(token), result)
  return 'completed'
end

-- Returns a status per job.
local function complete_all()
  local statuses, at = {}, 0
  for i = 1, claims do
    for _ = 1, tonumber(ARGV[2 * i + 1]) do
      at = at + 1
      statuses[at] = complete_one(ARGV[first + at - 1], ARGV[2 * i], results[at])
    end
  end
  close_claims()
  prune_after_end()
  return table.concat(statuses, ' ')
end

local request = ARGV[results_end + 8] and read_request(results_end + 1)
if request and request.mode == AT_MOST_ONCE and (rule(MAX_RUNNING) >= 0 or group_lib.max_running_of({}) >= 0) then
  -- A clock that was set back is noticed all the same.
  commit()
  return 'conflict'
end
local statuses = exists and complete_all() or string.rep('gone ', total)
if not request then
  commit()
  return { statuses }
end
local reply = exists and claim(request) or nothing_found()
commit()
table.insert(reply, 1, statuses)
return reply
