-- list: reads a page of jobs, without payloads and results.
-- keys: state jobs opts errors results ready suspects ghosts scheduled running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled lined
-- uses: stats state opts limit lease byte_order filter group/page scan read
-- flags: no-writes
-- args: a filter (read_filter in lib/scan)
-- reply: next cursor (empty: done); then the twelve values of lib/read per job
if not exists then
  return { '' }
end
local ids, next_at = scan(read_filter(1))
local reply = { next_at }
for i = 1, #ids do
  read_job(ids[i], false, reply)
end
return reply
