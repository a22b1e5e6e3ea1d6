-- list: jobs in pages, without payloads and results.
-- keys: state jobs opts errors results ready suspects ghosts scheduled running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled
-- uses: stats state lease byte_order scan read
-- flags: no-writes
-- args: a scan (lib/scan)
-- reply: where to go on (empty: nowhere); then the twelve parts of lib/look of each job
if not exists then
  return { '' }
end
local ids, next_at = scan(read_scan(1))
local reply = { next_at }
for i = 1, #ids do
  look(ids[i], false, reply)
end
return reply
