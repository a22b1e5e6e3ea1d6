-- leave: takes one queue off a worker's record, or the whole worker.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; a queue, or nothing for all and for good
-- reply: the queues it had, with tabs between; nothing when nobody knows it
local boot, queue = ARGV[1], ARGV[2]
begin()
local worker = known(boot)
local had = worker and worker.queues or false
if queue == '' then
  -- Also a record that cannot be read.
  redis.call('HDEL', k_workers, boot)
  redis.call('ZREM', k_seen, boot)
elseif worker then
  local rest = {}
  for name in string.gmatch(had, '[^\t]+') do
    if name ~= queue then
      rest[#rest + 1] = name
    end
  end
  worker.queues = table.concat(rest, '\t')
  write(boot, worker)
end
return had
