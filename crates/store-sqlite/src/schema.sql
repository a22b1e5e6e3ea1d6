-- The embedded store, version 3. One row per job with one state column, so a job cannot be in two
-- states at once. Times are milliseconds since 1970 on the store's clock.

CREATE TABLE queue (
    key        INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    settings   TEXT NOT NULL,      -- name=value lines of settings that differ from the defaults
    is_paused  INTEGER NOT NULL,
    mark_us    INTEGER NOT NULL,   -- high-water mark of the clock, microseconds
    last_token INTEGER NOT NULL,
    front      INTEGER NOT NULL,   -- last positions assigned at the two ends of the lanes
    back       INTEGER NOT NULL,
    stats      TEXT NOT NULL,      -- counters, in the order of stats.rs; empty if the queue is deleted
    fires_at   INTEGER,            -- when the next instant of its schedules is due
    rate_next_us INTEGER NOT NULL DEFAULT 0   -- when the next claim is on schedule, microseconds; 0 without a rate
) STRICT;

CREATE TABLE job (
    key           INTEGER PRIMARY KEY,
    queue         INTEGER NOT NULL,
    id            TEXT NOT NULL,
    state         INTEGER NOT NULL,  -- -1 pending, 0 scheduled, 1 ready, 2 running, 3 succeeded, 4 dead, 5 cancelled
    priority      INTEGER NOT NULL,
    lane          INTEGER NOT NULL,  -- order of ready jobs: priority, then suspects; see lane.rs
    position      INTEGER NOT NULL,  -- order within the lane
    attempt       INTEGER NOT NULL,
    expiries      INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    expires_at    INTEGER,
    started_at    INTEGER,
    accepted_at   INTEGER,
    finished_at   INTEGER,
    token_number  INTEGER,
    token_nonce   INTEGER,
    worker        TEXT,
    is_named      INTEGER NOT NULL,  -- 1 if the caller chose the id, 2 if a schedule did: NAME@…
    keep_outcome  INTEGER NOT NULL,
    cancel_requested  INTEGER NOT NULL,
    kind          TEXT,
    unique_key    TEXT,
    retry         TEXT,              -- the policy, unless it is the default
    timeout_ms    INTEGER,
    headers       TEXT,              -- name:value lines
    progress      TEXT,              -- fraction, time, message
    reason        TEXT,
    error         TEXT,              -- the last error and a record of attempts, see StoredErrors in core
    result        BLOB,
    payload_bytes INTEGER NOT NULL,
    payload       BLOB,              -- NULL if it is in large_payload
    unique_for_ms INTEGER,           -- how long the job holds its unique key at least; -1 until it starts
    group_name    TEXT
) STRICT;

CREATE UNIQUE INDEX job_id ON job (queue, id);
CREATE INDEX job_ready ON job (queue, group_name, lane, position) WHERE state = 1;
CREATE INDEX job_scheduled ON job (queue, due_at, id) WHERE state = 0;
CREATE INDEX job_expiring ON job (queue, expires_at, id) WHERE state < 2 AND expires_at IS NOT NULL;
CREATE INDEX job_finished ON job (queue, state, finished_at, id) WHERE finished_at IS NOT NULL;
CREATE INDEX job_stopping ON job (queue, id) WHERE cancel_requested = 1;
CREATE UNIQUE INDEX job_unique_key ON job (queue, unique_key) WHERE state < 3 AND unique_key IS NOT NULL;

-- Large payloads are stored separately, so that updating a job does not rewrite them.
CREATE TABLE large_payload (
    job   INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE lease (
    queue          INTEGER NOT NULL,
    owner          TEXT NOT NULL,     -- b:boot or t:token
    until          INTEGER NOT NULL,  -- 0 once reaping has started
    length_ms      INTEGER NOT NULL,
    last_seq       INTEGER,           -- the boot's latest claim
    last_number    INTEGER,
    last_nonce     INTEGER,
    suspect_id     TEXT,              -- the latest suspect the boot claimed
    suspect_number INTEGER,
    PRIMARY KEY (queue, owner)
) STRICT, WITHOUT ROWID;

CREATE INDEX lease_until ON lease (queue, until, owner);

CREATE TABLE claim (
    queue       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    nonce       INTEGER NOT NULL,
    owner       TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    remaining   INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (queue, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX claim_open ON claim (queue, owner, number) WHERE finished_at IS NULL;
CREATE INDEX claim_finished ON claim (queue, finished_at, number) WHERE finished_at IS NOT NULL;

-- The jobs of a claim, written once: ids in claim order, one per line.
CREATE TABLE claim_ids (
    queue  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    ids    TEXT NOT NULL,
    PRIMARY KEY (queue, number)
) STRICT, WITHOUT ROWID;

-- Jobs that left a claim other than by completion.
CREATE TABLE departure (
    queue  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    id     TEXT NOT NULL,
    how    TEXT NOT NULL,
    PRIMARY KEY (queue, number, id)
) STRICT, WITHOUT ROWID;

-- Kept for deduplication: caller-chosen ids of finished jobs, unique keys that are held after their job ended,
-- and ids of enqueues that changed another job.
CREATE TABLE tombstone (
    queue INTEGER NOT NULL,
    id    TEXT NOT NULL,           -- a line feed precedes a unique key
    state INTEGER NOT NULL,
    until INTEGER NOT NULL,
    job   TEXT,                    -- the id of the job, unless that is the id
    reply TEXT,                    -- replaced or postponed; NULL for a duplicate
    PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstone_until ON tombstone (queue, until, id);

CREATE TABLE worker (
    boot       TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    host       TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    version    TEXT NOT NULL,
    queues     TEXT NOT NULL,      -- one per line
    running    TEXT NOT NULL,      -- queue, tab, id per line
    command    TEXT NOT NULL,      -- for its next heartbeat
    started_at INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The clock mark of the worker registry, which spans all queues.
CREATE TABLE registry (
    only    INTEGER PRIMARY KEY CHECK (only = 1),
    mark_us INTEGER NOT NULL
) STRICT;

INSERT INTO registry VALUES (1, 0);
