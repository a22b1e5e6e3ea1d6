
-- Job templates that enqueue a job at each of their instants. The store knows instants; callers compute them.
CREATE TABLE schedule (
    queue         INTEGER NOT NULL,
    name          TEXT NOT NULL,
    revision      INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    is_paused     INTEGER NOT NULL,
    fires_at      INTEGER,           -- when the first of its instants is due
    refill_at     INTEGER,           -- when it asks for more instants
    settled_until INTEGER NOT NULL,
    known_until   INTEGER NOT NULL,
    fired         INTEGER NOT NULL,
    missed        INTEGER NOT NULL,
    skipped       INTEGER NOT NULL,
    current       TEXT,              -- its latest job that has not ended
    waiting       TEXT,              -- the pending job that waits for the end of that one
    last_end      TEXT,              -- time, state and id of the latest job that ended
    instants      TEXT NOT NULL,     -- seconds since the one before, with +jitter in ms
    history       TEXT NOT NULL,     -- lines: instant, when it was settled, why it did not fire
    definition    TEXT NOT NULL,     -- name=value lines: its rule, its options, the job without payload
    payload       BLOB NOT NULL,
    PRIMARY KEY (queue, name)
) STRICT;

CREATE INDEX schedule_due ON schedule (queue, fires_at, name) WHERE fires_at IS NOT NULL;
CREATE INDEX schedule_refill ON schedule (queue, refill_at, name) WHERE refill_at IS NOT NULL;
CREATE INDEX schedule_waiting ON schedule (queue, waiting) WHERE waiting IS NOT NULL;
