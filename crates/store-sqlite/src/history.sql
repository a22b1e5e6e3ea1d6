
-- The history of each queue: a row per minute, for one day. `record` is the text of core's `HistoryRow`.
CREATE TABLE history (
    queue  INTEGER NOT NULL,
    minute INTEGER NOT NULL,       -- since 1970
    record TEXT NOT NULL,
    PRIMARY KEY (queue, minute)
) STRICT, WITHOUT ROWID;

-- The minute of each queue that is not over, as the text of core's `OpenMinute`. Missing in a queue of version 2 that
-- has taken no sample yet.
CREATE TABLE open_minute (
    queue  INTEGER PRIMARY KEY,
    record TEXT NOT NULL
) STRICT;
