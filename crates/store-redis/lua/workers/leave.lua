-- leave: removes one queue from a worker, or the worker itself.
-- keys: workers seen mark
-- uses: workers/registry
-- flags: allow-oom
-- args: boot; a queue, or empty to remove the worker
-- reply: the queues it had, separated by tabs; nil if the worker is unknown
local boot, queue = ARGV[1], ARGV[2]
begin_write()
local worker = known_worker(boot)
local had = worker and worker.queues or false
if queue == '' then
  -- Removes an unreadable record too.
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
  write_worker(boot, worker)
end
return had
