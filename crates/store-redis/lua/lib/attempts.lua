-- Records attempts that failed or expired.

-- Records the attempt of a running job. A failed one has an error, of which the record has the first `length` bytes.
local function record_attempt(id, opts, lease, how, message, length)
  local text = redis.call('HGET', k_errors, id)
  local last, records = errors_lib.read(text)
  if message then
    last = errors_lib.replace(last, records, message)
  end
  local open = open_claim(lease.token)
  local worker = open and string.match(open.owner, '^' .. BOOT_OWNER .. '(.*)$') or lease.worker
  records[#records + 1] = {
    head = how .. ' ' .. (opts[ATTEMPT] or '1') .. ' ' .. digits(issued_at(lease.token)) .. ' ' .. digits(now),
    length = length or 0,
    worker = worker,
    text = not message and '' or nil,
  }
  while #records > ATTEMPTS_MAX do
    table.remove(records, 1)
  end
  errors_lib.write(id, text, last, records)
end
