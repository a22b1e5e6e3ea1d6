-- claim: claims ready jobs under a token and a lease.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap stale pick record_claim claim_fast fast_path waiters claim
-- flags: allow-oom
-- guards: lazy
-- args: owner (BOOT_OWNER BOOT, or empty for a single claim), seq, nonce (8 hex digits), max, lease (ms), mode (empty, AT_MOST_ONCE or DISPATCH), worker name (single claims only), waiter (empty, or NAME TAB SHORT TAB LONG: register it if nothing is found)
-- reply: token (empty: no jobs), lease end (how long a waiter was registered), number of ready jobs left (for a waiter that found jobs), NOTHING_FOUND or CLAIM_AGAIN (only stale entries were read, or a lease is reaped in part) or NEXT_DUE - ms until the next scheduled job, number of partitions; then the ids, each followed by LF, and PAYLOADS_ONLY: payloads, PAYLOADS_AND_OPTS: payload and opts per job, or SHARED_OPTS: opts of all, payloads
if not exists then
  return nothing_found()
end
local request = read_request(1)
choose_path(request.mode ~= AT_MOST_ONCE, math.min(request.max, CLAIM_MAX))
local reply = claim(request)
commit()
return reply
