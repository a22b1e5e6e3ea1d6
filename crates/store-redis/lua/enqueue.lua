-- enqueue: stores jobs. A job whose id is known or whose unique key is held is a duplicate.
-- keys: state jobs opts ready suspects ghosts scheduled expiring unique running final tombstones forgetting leases owners lined working turns resting recheck groups group_names sleepers wake hints
-- uses: stats call notify opts state group/record group/line group/place waiting tombstone enqueue store_jobs
-- flags:
-- guards: lazy
-- args: call slot and number; slot and number of the call before it in a pipeline (empty: none); earliest time in the generated ids (or 0) and milliseconds to the latest, number of partitions the caller knows of, spec of all jobs (may be empty) or OWN_SPECS; then id (each once) and value per job, plus its spec with OWN_SPECS. A value has the spec in it if its opts are stored there. A spec is encoded opts with DUE_AT, EXPIRES_AT and DEADLINE as MS, or +MS from now
-- reply: `absent` if the queue does not exist; `moved N` if it has N partitions; else a single STORED_READY if all jobs are ready, or per job STORED_READY, STORED_SCHEDULED or `DUPLICATE STATE SPACE ID` of the existing job, or the reply that is remembered of its id or key; then `grow` if the partition is large
return enqueue_all()
