//! The command lines of the transcripts of groups.

use super::transcripts::Transcript;

/// Every command on groups.
pub(super) const GROUP_TRANSCRIPTS: &[Transcript] = &[
    (
        "windlass-groups-list",
        &[
            "groups list imports",
            "@enqueue imports orders.csv --id 1 --group acme",
            "@enqueue imports stock.csv --id 2 --group globex",
            "@queue set imports group_max_running=1",
            "@claim imports",
            "groups list imports",
            "groups list imports --limit 1",
            "groups list imports --limit 0",
        ],
    ),
    (
        "windlass-job-why",
        &[
            "@queue set imports group_max_running=1",
            "@enqueue imports orders.csv --id 1 --group acme",
            "@enqueue imports stock.csv --id 2 --group acme",
            "@enqueue imports late.csv --id 3 --delay 1h",
            "job why imports 1",
            "@claim imports",
            "job why imports 1",
            "@queue pause imports",
            "job why imports 2",
            "job why imports 3",
            "job why imports 4",
            "job why nowhere 1",
        ],
    ),
    (
        "windlass-groups-pause",
        &["groups pause imports acme", "groups pause imports acme"],
    ),
    (
        "windlass-groups-resume",
        &["@groups pause imports acme", "groups resume imports acme"],
    ),
    (
        "windlass-groups-set",
        &[
            "groups set imports acme max_running=3 rate=100/1m burst=5",
            "groups set imports acme max_running=default rate=none",
            "groups set imports acme max_running=0",
            "groups set imports acme colour=red",
            "groups set imports acme fast",
        ],
    ),
    (
        "windlass-groups-show",
        &[
            "@enqueue imports orders.csv --id 1 --group acme",
            "@queue set imports group_max_running=2",
            "groups show imports acme",
            "groups show imports nobody",
        ],
    ),
];
