-- claim: hands out jobs of the queue under a token and a lease.
-- keys: state jobs opts errors results ready suspects ghosts scheduled expiring unique running open claims left tokens holds leases owners stopping progress final succeeded dead cancelled tombstones forgetting sleepers wake hints
-- uses: stats notify opts state waiting lease finish extend reap pick record_claim claim_fast fast_path waiters claim
-- flags: allow-oom
-- guards: lazy
-- args: owner (b:BOOT, or empty for a lease of its own), seq, nonce (8 hex digits), max, lease (ms), mode (empty, `m` at most once, `d` dispatch), worker (for a single claim), sleeper (empty, or NAME TAB MS: register it when nothing is found)
-- reply: token (empty: nothing), lease end, 1 when stale entries took up the whole step (ask again) or -1-ms until the next due job, how many parts the queue has; then the ids, each with a newline behind it, what follows: 1 the payloads, 2 payload and opts of each, 3 the opts that are the same for all and the payloads
if not exists then
  return nothing()
end
local request = read_request(1)
guard(request.mode ~= 'm', math.min(request.max, CLAIM_MAX))
local reply = claim(request)
commit()
return reply
