
-- Errors of failed attempts in groups.
CREATE TABLE error_group (
    queue      INTEGER NOT NULL,
    kind       TEXT NOT NULL,      -- of the jobs; empty without one
    message    TEXT NOT NULL,      -- normalized
    count      INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL,
    hours      TEXT NOT NULL,      -- hour:count of the last day
    last_job   TEXT NOT NULL,
    example    TEXT NOT NULL,      -- the last error, truncated
    PRIMARY KEY (queue, kind, message)
) STRICT, WITHOUT ROWID;

CREATE INDEX error_group_seen ON error_group (queue, last_seen, kind, message);
