//! The command lines of the transcripts of queues.

use super::transcripts::Transcript;

/// Every command on queues.
pub(super) const QUEUE_TRANSCRIPTS: &[Transcript] = &[
    (
        "windlass-queue-clear-error",
        &[
            "@enqueue mail hello --id 1 --kind letter",
            "@claim mail",
            "@fail mail 1 --token {token} --error 'user 7 is gone'",
            "queue clear-error mail 4b563d560020363a",
            "queue clear-error mail 0000000000000000",
            "queue clear-error mail x",
        ],
    ),
    (
        "windlass-queue-delete",
        &[
            "@enqueue mail hello --id 1",
            "@enqueue mail hello --id 2",
            "@job cancel mail 2",
            "queue delete mail --dry-run",
            "@claim mail",
            "queue delete mail --yes",
            "@release mail 1 --token {token}",
            "queue delete mail",
            "queue delete mail --yes",
            "queue list",
        ],
    ),
    (
        "windlass-queue-errors",
        &[
            "@enqueue mail hello --id 1 --kind letter",
            "@claim mail",
            "@fail mail 1 --token {token} --error 'user 7 is gone'",
            "queue errors mail",
            "queue errors nowhere",
        ],
    ),
    (
        "windlass-queue-history",
        &[
            "@enqueue mail hello",
            "queue history mail",
            "queue history mail --minutes 0",
            "queue history nowhere",
        ],
    ),
    (
        "windlass-queue-list",
        &[
            "queue list",
            "@queue pause post",
            "queue list",
            "@enqueue mail hello --id 1",
            "@enqueue mail hello --id 2 --delay 1h",
            "queue list",
        ],
    ),
    (
        "windlass-queue-pause",
        &["queue pause mail", "queue pause mail"],
    ),
    (
        "windlass-queue-purge",
        &[
            "@enqueue mail hello",
            "queue purge mail --dry-run",
            "queue purge mail",
            "queue purge mail --yes",
            "queue purge nowhere",
        ],
    ),
    (
        "windlass-queue-resume",
        &[
            "@queue pause mail",
            "queue resume mail",
            "queue resume post",
        ],
    ),
    (
        "windlass-queue-set",
        &[
            "queue set mail dead_age=7d dead_count=all",
            "queue set mail",
            "queue set mail colour=red",
            "queue set mail dead_age=old",
        ],
    ),
    (
        "windlass-queue-stats",
        &[
            "@enqueue mail hello --priority 1",
            "@enqueue mail hello --delay 1h",
            "queue stats mail",
            "queue stats nowhere",
            "queue stats --all-queues",
        ],
    ),
];
