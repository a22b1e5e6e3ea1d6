-- get: everything known of one job.
-- keys: state jobs opts errors results scheduled running open stopping progress final
-- uses: stats state read
-- flags: no-writes
-- args: id
-- reply: nothing, or the twelve parts of lib/look
local reply = {}
if not exists or not look(ARGV[1], true, reply) then
  return {}
end
return reply
