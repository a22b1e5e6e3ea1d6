-- list: reads a page of jobs, without results.
-- keys: state jobs opts errors results ready suspects ghosts scheduled running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled lined
-- uses: stats state opts limit lease byte_order filter group/page scan errors read
-- flags: no-writes
-- args: a filter (read_filter in lib/filter); `payloads` to read these too, as far as one call may copy them
-- reply: next cursor (empty: done), now; then the twelve values of lib/read per job
if not exists then
  return { '', now }
end
local filter = read_filter(1)
filter.reads_payloads = ARGV[6] ~= nil
local ids, next_at = scan(filter)
local reply = { next_at, now }
for i = 1, #ids do
  read_job(ids[i], filter.reads_payloads, false, reply)
end
return reply
