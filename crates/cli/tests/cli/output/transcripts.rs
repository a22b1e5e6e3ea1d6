//! The command lines of each transcript.

/// The name of the snapshot file, and the command lines to run.
pub(super) type Transcript = (&'static str, &'static [&'static str]);

/// Every command that exits by itself.
pub(super) const TRANSCRIPTS: &[Transcript] = &[
    (
        "windlass-accept",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail --dispatch",
            "accept mail 1 --token {token}",
            "accept mail 1 --token 1-00000000",
        ],
    ),
    (
        "windlass-actions",
        &["@enqueue mail hello --id 1", "actions", "actions --limit 0"],
    ),
    (
        "windlass-audit",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail --lease 1ms",
            "audit",
            "audit nowhere",
        ],
    ),
    (
        "windlass-bench",
        &[
            "bench --jobs 200 --rounds 1 --limit",
            "bench --store memory:",
        ],
    ),
    (
        "windlass-claim",
        &[
            "@enqueue mail hello --id 1",
            "@enqueue mail '{\"to\":\"Ann\"}' --id 2 --priority 1",
            "claim mail --max 2",
            "claim mail",
            "@queue pause mail",
            "claim mail",
            "claim nowhere",
            "claim mail --max 101",
        ],
    ),
    (
        "windlass-clean",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail --lease 1ms",
            "clean",
            "clean --deep mail",
            "clean nowhere",
        ],
    ),
    (
        "windlass-complete",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail",
            "complete mail 1 --token {token} --result sent",
            "complete mail 1 --token 1-00000000",
            "complete mail 2 --token {token}",
        ],
    ),
    (
        "windlass-config-show",
        &[
            "config show",
            "config show --store redis://:secret@localhost/0",
        ],
    ),
    ("windlass-demo", &["demo --jobs 30 --workers 2"]),
    (
        "windlass-doctor",
        &[
            "doctor",
            "@enqueue mail hello",
            "@queue pause post",
            "doctor --deep --audit",
        ],
    ),
    (
        "windlass-enqueue",
        &[
            "enqueue mail hello",
            "enqueue mail hello --id 1 --delay 1h",
            "enqueue mail hello --id 1",
            "enqueue mail world --id 1 --on-duplicate replace",
            "enqueue mail world --id 1 --on-duplicate postpone --delay 2h --postpone-max 3h",
            "enqueue mail world --unique-for 1h",
            "enqueue mail - --id 2 <<< hello",
            "enqueue mail <<< hello",
            "enqueue mail hello --priority 10",
            "enqueue mail --ndjson - <<< {\"id\":\"3\",\"payload\":\"hello\"}\\n{\"priority\":10}\\n{\"id\":\"3\"}",
            "enqueue mail --ndjson missing.ndjson",
        ],
    ),
    (
        "windlass-exec",
        &[
            "@enqueue mail hello --id 1",
            "@enqueue mail again --id 2",
            "exec --queue mail --burst -- tr a-z A-Z",
            "exec --queue mail --burst -- true",
        ],
    ),
    (
        "windlass-fail",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail",
            "fail mail 1 --token {token} --error 'no route' --delay 1h",
            "@enqueue post hello --id 2",
            "@claim post",
            "fail post 2 --token {token} --error 'no route' --permanent",
            "fail post 2 --token 1-00000000 --error 'no route'",
        ],
    ),
    (
        "windlass-job-cancel",
        &[
            "@enqueue mail hello --id 1",
            "@enqueue mail hello --id 2",
            "@enqueue mail hello --id 3",
            "@claim mail",
            "job cancel mail 2",
            "job cancel mail 2",
            "job cancel mail 4",
            "job cancel mail --all --dry-run",
            "job cancel mail --all",
            "job cancel mail --all --yes",
        ],
    ),
    (
        "windlass-job-delete",
        &[
            "@enqueue mail hello --id 1",
            "@enqueue mail hello --id 2",
            "@job cancel mail 1",
            "job delete mail 1",
            "job delete mail 2",
            "job delete --all --all-queues --yes",
        ],
    ),
    (
        "windlass-job-get",
        &[
            "@enqueue mail hello --id 1 --kind letter --unique-key k --unique-for 1h --header to=Ann --timeout 1m",
            "job get mail 1",
            "@claim mail --worker w",
            "@progress mail 1 --token {token} 0.4 'page 4'",
            "job get mail 1",
            "@fail mail 1 --token {token} --error 'no route\nat line 7' --permanent",
            "job get mail 1",
            "job get mail 2",
        ],
    ),
    (
        "windlass-job-list",
        &[
            "@enqueue mail hello --id 1 --kind letter",
            "@enqueue mail hello --id 2 --delay 1h",
            "@enqueue mail hello --id 3 --priority 9",
            "@enqueue mail hello --id 0 --kind letter --priority 0",
            "@claim mail",
            "@fail mail 0 --token {token} --error 'no route to host' --permanent",
            "job list mail",
            "job list mail --state running",
            "job list mail --text route --older-than 0s",
            "job list mail --min-attempt 2",
            "job list mail --header 'a b'",
            "job list mail --state sleeping",
            "job list mial",
            "job list --all-queues --limit 1",
        ],
    ),
    (
        "windlass-job-promote",
        &[
            "@enqueue mail hello --id 1 --delay 1h",
            "job promote mail 1",
            "job promote mail 1",
        ],
    ),
    (
        "windlass-job-retry",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail",
            "@fail mail 1 --token {token} --error no --permanent",
            "job retry mail 1",
            "job retry mail 1",
            "job retry mail --all --yes",
            "job retry --all --all-queues --yes",
        ],
    ),
    (
        "windlass-job-wait",
        &[
            "@enqueue mail hello --id 1",
            "@enqueue mail hello --id 2",
            "job wait mail 1 --timeout 1ms",
            "@claim mail",
            "@complete mail 1 --token {token} --result sent",
            "job wait mail 1",
            "@job cancel mail 2",
            "job wait mail 2",
        ],
    ),
    (
        "windlass-maintain",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail --lease 1ms",
            "maintain",
            "maintain nowhere",
        ],
    ),
    (
        "windlass-processor",
        &[
            "processor --tick 1h --service-uuid me --service-host box <<< {\"topic\":\"tick\"}\\n{\"topic\":\"dance\"}\\nno JSON",
        ],
    ),
    (
        "windlass-progress",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail",
            "progress mail 1 --token {token} 0.4 'page 4'",
            "progress mail 1 --token {token} 2",
        ],
    ),
    (
        "windlass-release",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail",
            "release mail 1 --token {token}",
            "release mail 1 --token 1-00000000",
        ],
    ),
    (
        "windlass-renew",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail",
            "renew mail --token {token}",
            "@job cancel mail 1",
            "renew mail 1 --token {token} --lease 1m",
            "renew mail --token 1-00000000",
        ],
    ),
    (
        "windlass-schedules-apply",
        &[
            "schedules apply missing.toml",
            "schedules apply - --prune <<< {\"set\":\"billing\",\"schedules\":[{\"queue\":\"reports\",\"name\":\"nightly\",\"cron\":\"30 2 * * *\",\"from\":\"2035-01-01T00:00:00Z\"}]}",
            "schedules apply - --prune <<< {\"set\":\"billing\",\"schedules\":[{\"queue\":\"reports\",\"name\":\"nightly\",\"cron\":\"30 2 * * *\",\"from\":\"2035-01-01T00:00:00Z\"}]}",
            "schedules apply - --prune <<< {\"set\":\"billing\",\"schedules\":[]}",
            "schedules apply - <<< {\"schedules\":[{\"queue\":\"reports\",\"name\":\"nightly\",\"cron\":\"30 2 * * *\",\"tz\":\"UTC\"}]}",
            "schedules apply - --prune <<< {\"schedules\":[]}",
        ],
    ),
    (
        "windlass-schedules-backfill",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules backfill reports nightly 2035-04-01T00:00:00Z 2035-04-03T00:00:00Z",
            "schedules backfill reports nightly 2035-04-01T00:00:00Z 2035-04-04T00:00:00Z",
            "schedules backfill reports nightly 2035-04-03T00:00:00Z 2035-04-01T00:00:00Z",
        ],
    ),
    (
        "windlass-schedules-delete",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules delete reports nightly",
            "schedules delete reports nightly",
        ],
    ),
    (
        "windlass-schedules-list",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "@schedules put cache refresh --every 1h --from 2035-01-01T00:00:00Z ''",
            "@schedules pause cache refresh",
            "schedules list",
            "schedules list nowhere",
        ],
    ),
    (
        "windlass-schedules-next",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules next reports nightly -n 3",
            "@schedules put reports half --cron '*/30 * * * *' --zone Europe/Berlin --from 2035-10-27T23:30:00Z ''",
            "schedules next reports half -n 7",
            "schedules next reports unknown",
        ],
    ),
    (
        "windlass-schedules-pause",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules pause reports nightly",
            "schedules pause reports unknown",
        ],
    ),
    (
        "windlass-schedules-put",
        &[
            "schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules put reports nightly --every 1h --from 2035-01-01T00:00:00Z hello",
            "schedules put reports bad --cron '61 * * * *' hello",
            "schedules put reports bad --cron '* * * * *' --zone Mars/Base hello",
            "schedules put reports bad --every 1500ms hello",
        ],
    ),
    (
        "windlass-schedules-resume",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "@schedules pause reports nightly",
            "schedules resume reports nightly",
        ],
    ),
    (
        "windlass-schedules-run",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules run reports nightly",
            "schedules run reports nightly",
            "schedules run reports nightly --force",
        ],
    ),
    (
        "windlass-schedules-show",
        &[
            "@schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin --from 2035-03-24T00:00:00Z hello",
            "schedules show reports nightly",
            "schedules show reports unknown",
        ],
    ),
    (
        "windlass-snooze",
        &[
            "@enqueue mail hello --id 1",
            "@claim mail",
            "snooze mail 1 --token {token} --for 1h",
            "snooze mail 1 --token 1-00000000 --for 1h",
        ],
    ),
    (
        "windlass-stdio",
        &[
            "stdio <<< {\"op\":\"enqueue\",\"ref\":1,\"queue\":\"mail\",\"id\":\"1\",\"payload\":\"hello\"}\\n{\"op\":\"dance\",\"ref\":2}\\nno JSON",
        ],
    ),
    (
        "windlass-store-backup",
        &[
            "@enqueue mail hello --id 1",
            "store backup copy.db",
            "@store backup other.db",
            "job list mail --store sqlite:copy.db",
            "store backup other.db",
            "store backup copy.db --store redis://localhost/0",
        ],
    ),
    (
        "windlass-store-compact",
        &[
            "store compact",
            "@enqueue mail hello --id 1",
            "store compact",
            "store compact --store redis://localhost/0",
        ],
    ),
    (
        "windlass-store-migrate",
        &["store migrate", "store migrate --store http://localhost:1"],
    ),
    ("windlass-submit", &["submit --count 2 --within 10s"]),
    (
        "windlass-token-new",
        &[
            "token new ann --scope read,enqueue --queue mail-* --queue news",
            "token new bob --scope admin",
            "token new bob --scope dance",
        ],
    ),
    ("windlass-version", &["version"]),
    (
        "windlass-top",
        &["@enqueue mail hello --id 1 --delay 1h", "top", "top --once"],
    ),
    (
        "windlass-workers-command",
        &[
            "@stdio <<< {\"op\":\"register\",\"worker\":\"w-1\",\"host\":\"box\",\"pid\":7,\"queues\":[\"mail\"]}",
            "workers command w-1 pause",
            "workers command w-2 stop",
        ],
    ),
    (
        "windlass-workers-fail",
        &[
            "@stdio <<< {\"op\":\"register\",\"worker\":\"w-1\",\"host\":\"box\",\"pid\":7,\"queues\":[\"mail\"]}",
            "workers fail w-1",
            "workers fail w-2",
        ],
    ),
];
