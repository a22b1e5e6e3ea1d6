-- The log of operator actions, which spans all queues.
CREATE TABLE action (
    number    INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    who       TEXT NOT NULL,
    interface TEXT NOT NULL,
    op        TEXT NOT NULL,
    queue     TEXT,
    target    TEXT NOT NULL,
    request   TEXT
) STRICT;
