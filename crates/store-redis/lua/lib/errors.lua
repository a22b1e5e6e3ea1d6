-- The errors of a job: the last one, and a record of its attempts (StoredErrors in core).
local errors_lib = {}
do -- a script may have 200 locals at a time
  local MARK = '\001'

  -- Returns the last error (nil: none), the records, oldest first, and where the last error begins. A record without a text
  -- has the first bytes of the last error.
  function errors_lib.read(text)
    local records, at = {}, 2
    if not text or string.sub(text, 1, 1) ~= MARK then
      return text or nil, records, 1
    end
    while true do
      local from, to, head, is_shared, length, worker = string.find(text, '^(%l %d+ %d+ %d+) (=?)(%d+) ([^\n]*)\n', at)
      if not from then
        break
      end
      local record = { head = head, length = tonumber(length), worker = worker }
      at = to + 1
      if is_shared == '' then
        record.text = string.sub(text, at, at + record.length - 1)
        at = at + record.length
      end
      records[#records + 1] = record
    end
    return string.sub(text, at, at) == MARK and string.sub(text, at + 1) or nil, records, at
  end

  -- A stored text without its records.
  function errors_lib.without_records(text)
    local last, records, at = errors_lib.read(text)
    if #records == 0 then
      return text
    end
    return last and MARK .. string.sub(text, at) or false
  end

  -- Replaces the last error, which may be nil. Its text in a record stays.
  function errors_lib.replace(before, records, last)
    for i = 1, #records do
      records[i].text = records[i].text or string.sub(before or '', 1, records[i].length)
    end
    return last
  end

  -- Writes the errors of a job instead of the stored text, and counts their bytes.
  function errors_lib.write(id, text, last, records)
    local parts = { #records > 0 and MARK or nil }
    for i = 1, #records do
      local record = records[i]
      parts[#parts + 1] = record.head .. ' ' .. (record.text and '' or '=') .. digits(record.length) .. ' ' .. record.worker .. '\n' .. (record.text or '')
    end
    parts[#parts + 1] = last and (#records > 0 and MARK or '') .. last or nil
    local new = table.concat(parts)
    stats[BYTES] = stats[BYTES] + #new - #(text or '')
    if last or #records > 0 then
      redis.call('HSET', k_errors, id, new)
    else
      redis.call('HDEL', k_errors, id)
    end
  end
end
