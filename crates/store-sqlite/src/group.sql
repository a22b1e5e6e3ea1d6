
-- Groups that have ready jobs, slots in use, a pause, a rest, a closed rate, or limits of their own.
CREATE TABLE job_group (
    queue         INTEGER NOT NULL,
    name          TEXT NOT NULL,
    ready         INTEGER NOT NULL,  -- its ready jobs
    slots         INTEGER NOT NULL,  -- its jobs that hold a slot
    turn          INTEGER NOT NULL,  -- of its last claimed job, or of its arrival
    priority      INTEGER,           -- of its first ready job
    first_holds   INTEGER NOT NULL,  -- 1 if its first ready job holds a slot
    may_start     INTEGER NOT NULL,  -- 1 if neither a pause nor its slots keep the first ready job back
    opens_us      INTEGER,           -- until when a rate or a rest keeps its ready jobs back
    forget_us     INTEGER,           -- when a group without anything else can be deleted
    rate_next_us  INTEGER NOT NULL,
    resting_until INTEGER NOT NULL,
    is_paused     INTEGER NOT NULL,
    limits        TEXT,              -- its own max_running, rate and burst
    PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX group_turn ON job_group (queue, priority, slots, turn) WHERE may_start = 1 AND opens_us IS NULL;
CREATE INDEX group_opening ON job_group (queue, opens_us) WHERE opens_us IS NOT NULL;
CREATE INDEX group_forgotten ON job_group (queue, forget_us) WHERE forget_us IS NOT NULL;
