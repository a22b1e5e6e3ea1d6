//! The bridge: work enqueued by the originals becomes jobs, even if bridges are killed.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_testkit::redis::until;

use super::sandbox::Sandbox;
use super::test_store::TestStore;

const MANY: usize = 2_000;
const KILLS: usize = 6;

/// One older system: how its originals enqueue work, and how to expire its dead workers.
struct Source {
    from: &'static str,
    add: fn(&Sandbox, usize),
    expire: fn(&Sandbox),
    has_ids: bool,
}

const WORK_QUEUE: Source = Source {
    from: "redis-work-queue:old",
    add: |sandbox, count| {
        for n in 0..count {
            let item = format!("old:item:id-{n}");
            redis(sandbox, &["SET", &item, &format!("data {n}")]);
            redis(sandbox, &["LPUSH", "old:queue", &format!("id-{n}")]);
        }
    },
    expire: |sandbox| {
        for n in 0..MANY {
            redis(sandbox, &["DEL", &format!("old:lease:id-{n}")]);
        }
    },
    has_ids: true,
};

const WORQR: Source = Source {
    from: "worqr:old",
    add: |sandbox, count| {
        for n in 0..count {
            redis(
                sandbox,
                &["LPUSH", "worqr:queues:old", &format!("data {n}")],
            );
        }
    },
    // Worker timers expire by themselves.
    expire: |_| {},
    has_ids: false,
};

const BLUEQUE: Source = Source {
    from: "blueque:old",
    add: |sandbox, count| add_tasks(sandbox, "blueque", "LPUSH", count),
    expire: |sandbox| expire_listeners(sandbox, "blueque"),
    has_ids: true,
};

/// In the document layout a task is started as it is taken.
const BLUEQUE_DOCUMENT: Source = Source {
    from: "blueque:old --layout document",
    add: |sandbox, count| add_tasks(sandbox, "bluequeue", "RPUSH", count),
    expire: |sandbox| expire_listeners(sandbox, "bluequeue"),
    has_ids: true,
};

const PROCESSOR: Source = Source {
    from: "processor:old --silence 1s",
    add: |sandbox, count| {
        for n in 0..count {
            let json = format!("data {n}");
            redis(sandbox, &["HSET", &format!("id-{n}"), "json", &json]);
            redis(sandbox, &["LPUSH", "jobs_queued:old", &format!("id-{n}")]);
        }
    },
    // A second without activity passes by itself.
    expire: |_| {},
    has_ids: true,
};

const DELAYED_QUEUE: Source = Source {
    from: "delayed-queue --silence 1s",
    add: |sandbox, count| {
        for n in 0..count {
            let (key, data) = (format!("delayed-queue:job:id-{n}"), format!("data {n}"));
            redis(sandbox, &["HSET", &key, "payload", &data, "dueTime", "1"]);
            redis(
                sandbox,
                &["LPUSH", "delayed-queue:dueJobs", &format!("id-{n}")],
            );
        }
    },
    expire: |_| {},
    has_ids: true,
};

fn add_tasks(sandbox: &Sandbox, prefix: &str, push: &str, count: usize) {
    redis(
        sandbox,
        &["ZINCRBY", &format!("{prefix}_queues"), "0", "old"],
    );
    let pending = format!("{prefix}_pending_tasks_old");
    for n in 0..count {
        let (task, data) = (format!("{prefix}_task_id-{n}"), format!("data {n}"));
        let mut command = vec!["HSET", &task, "status", "pending", "queue", "old"];
        command.extend(["parameters", &data, "created", "1.5", "updated", "1.5"]);
        redis(sandbox, &command);
        redis(sandbox, &[push, &pending, &format!("id-{n}")]);
    }
}

fn expire_listeners(sandbox: &Sandbox, prefix: &str) {
    let heartbeats = format!("{prefix}_beats_old");
    for listener in redis(sandbox, &["ZRANGE", &heartbeats, "0", "-1"]).array() {
        redis(sandbox, &["ZADD", &heartbeats, "1", &listener.text()]);
    }
}

fn redis(sandbox: &Sandbox, args: &[&str]) -> windlass_testkit::redis::Reply {
    sandbox.store.server().command(args)
}

fn bridge(sandbox: &Sandbox, source: &Source) -> Value {
    let line = format!("interop bridge {} --to new --json", source.from);
    sandbox.run(&line).ok().json()
}

/// Number of items waiting or running in the older system.
fn left(sandbox: &Sandbox) -> u64 {
    sum(sandbox, &["waiting", "running"])
}

fn sum(sandbox: &Sandbox, fields: &[&str]) -> u64 {
    let found = sandbox.run("interop inspect --json").ok().json();
    let queues = found.as_array().unwrap().iter();
    let count = |queue: &Value, name: &&str| queue[*name].as_u64().unwrap();
    queues
        .flat_map(|queue| fields.iter().map(move |name| count(queue, name)))
        .sum()
}

fn ready(sandbox: &Sandbox) -> u64 {
    let stats = sandbox.run("queue stats new --json");
    match stats.code {
        Some(0) => stats.json()["ready"].as_u64().unwrap(),
        _ => 0,
    }
}

fn assert_migrates(source: &Source) {
    let sandbox = Sandbox::on(TestStore::redis());
    (source.add)(&sandbox, 250);
    assert_eq!(left(&sandbox), 250);

    let report = bridge(&sandbox, source);

    assert_eq!(report["migrated"], 250);
    assert_eq!(report["rejected"].as_array().unwrap().len(), 0);
    assert_eq!((left(&sandbox), ready(&sandbox)), (0, 250));
    let first = sandbox.claim("new");
    assert_eq!(first["payload"], "data 0", "the order stays");
    if source.has_ids {
        assert_eq!(first["id"], "id-0");
    }
    assert_eq!(bridge(&sandbox, source)["migrated"], 0, "nothing is left");
}

fn assert_survives_kills(source: &Source) {
    let sandbox = Sandbox::on(TestStore::redis());
    (source.add)(&sandbox, MANY);
    let line = format!("interop bridge --from {} --to new --follow", source.from);
    for _ in 0..KILLS {
        let before = ready(&sandbox);
        let mut follower = sandbox.start(&line);
        until("the bridge migrates something", || {
            let now = ready(&sandbox);
            // Killed bridges may still hold the rest.
            if now > before || sum(&sandbox, &["waiting"]) == 0 {
                Ok(())
            } else {
                Err(format!("{now} are ready"))
            }
        });
        follower.kill().unwrap();
        follower.wait().unwrap();
    }
    (source.expire)(&sandbox);

    until("everything is migrated", || {
        bridge(&sandbox, source);
        match left(&sandbox) {
            0 => Ok(()),
            left => Err(format!("{left} are left")),
        }
    });

    let ready = usize::try_from(ready(&sandbox)).unwrap();
    assert_eq!(payloads(&sandbox).len(), MANY, "nothing is lost");
    assert_eq!(ready, MANY, "nothing is there twice");
}

fn payloads(sandbox: &Sandbox) -> BTreeSet<String> {
    let mut payloads = BTreeSet::new();
    loop {
        // A lease that expires would return jobs to a slow loop for ever.
        let claimed = sandbox.run("claim new --max 100 --lease 1h --json");
        let claimed = claimed.ok().json();
        let claimed = claimed.as_array().unwrap();
        if claimed.is_empty() {
            return payloads;
        }
        payloads.extend(claimed.iter().map(|job| job["payload"].to_string()));
    }
}

#[test]
fn redis_work_queue_items_are_migrated_under_their_ids() {
    assert_migrates(&WORK_QUEUE);
}

#[test]
fn worqr_tasks_are_migrated() {
    assert_migrates(&WORQR);
}

#[test]
fn blueque_tasks_are_migrated_under_their_ids() {
    assert_migrates(&BLUEQUE);
}

#[test]
fn processor_jobs_are_migrated_under_their_uuids() {
    assert_migrates(&PROCESSOR);
}

#[test]
fn delayed_jobs_are_migrated_under_their_ids() {
    assert_migrates(&DELAYED_QUEUE);
}

#[test]
fn a_bridge_from_the_processor_loses_nothing_when_it_is_killed() {
    assert_survives_kills(&PROCESSOR);
}

#[test]
fn a_bridge_from_the_delayed_queue_loses_nothing_when_it_is_killed() {
    assert_survives_kills(&DELAYED_QUEUE);
}

#[test]
fn a_bridge_needs_a_source_that_exists() {
    let sandbox = Sandbox::on(TestStore::redis());
    for line in [
        "",
        "processor",
        "delayed-queue:a",
        "celery:mail",
        "delayed-queue --from worqr:a",
    ] {
        sandbox
            .run(&format!("interop bridge {line} --to new"))
            .exits(2);
    }
}

#[test]
fn a_bridge_from_redis_work_queue_loses_nothing_when_it_is_killed() {
    assert_survives_kills(&WORK_QUEUE);
}

#[test]
fn a_bridge_from_worqr_loses_nothing_when_it_is_killed() {
    assert_survives_kills(&WORQR);
}

#[test]
fn a_bridge_from_blueque_loses_nothing_when_it_is_killed() {
    assert_survives_kills(&BLUEQUE);
}

#[test]
fn a_bridge_from_the_document_layout_of_blueque_loses_nothing_when_it_is_killed() {
    assert_survives_kills(&BLUEQUE_DOCUMENT);
}

#[test]
fn rejected_items_stay_in_the_older_system() {
    let sandbox = Sandbox::on(TestStore::redis());
    (WORK_QUEUE.add)(&sandbox, 3);
    let huge = "x".repeat(2 * 1024 * 1024);
    redis(&sandbox, &["SET", "old:item:id-1", &huge]);

    let line = "interop bridge --from redis-work-queue:old --to new --json";
    let report = sandbox.run(line).exits(1).json();

    assert_eq!(report["migrated"], 2);
    assert_eq!(report["rejected"][0]["id"], "id-1");
    assert_eq!((left(&sandbox), ready(&sandbox)), (1, 2));
    assert_eq!(redis(&sandbox, &["EXISTS", "old:item:id-1"]).integer(), 1);
}

#[test]
fn items_with_invalid_job_ids_are_migrated_under_a_substitute() {
    let sandbox = Sandbox::on(TestStore::redis());
    let invalid = "line\none";
    redis(&sandbox, &["SET", &format!("old:item:{invalid}"), "data"]);
    redis(&sandbox, &["LPUSH", "old:queue", invalid]);

    assert_eq!(bridge(&sandbox, &WORK_QUEUE)["migrated"], 1);

    let job = sandbox.claim("new");
    let id = job["id"].as_str().unwrap();
    assert!(id.starts_with("interop-"), "{id}");
    assert_eq!(job["payload"], "data");
}
