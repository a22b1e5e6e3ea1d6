//! The bridge: work put in as the originals put it in comes out as jobs, whoever is killed on the way.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_testkit::redis::until;

use super::sandbox::Sandbox;
use super::test_store::TestStore;

const MANY: usize = 2_000;
const KILLS: usize = 6;

/// One older system: how its originals put work in, and what makes its dead workers known at once.
struct Origin {
    from: &'static str,
    put: fn(&Sandbox, usize),
    bury: fn(&Sandbox),
    has_ids: bool,
}

const WORK_QUEUE: Origin = Origin {
    from: "redis-work-queue:old",
    put: |sandbox, count| {
        for n in 0..count {
            let item = format!("old:item:id-{n}");
            ask(sandbox, &["SET", &item, &format!("data {n}")]);
            ask(sandbox, &["LPUSH", "old:queue", &format!("id-{n}")]);
        }
    },
    bury: |sandbox| {
        for n in 0..MANY {
            ask(sandbox, &["DEL", &format!("old:lease:id-{n}")]);
        }
    },
    has_ids: true,
};

const WORQR: Origin = Origin {
    from: "worqr:old",
    put: |sandbox, count| {
        for n in 0..count {
            ask(
                sandbox,
                &["LPUSH", "worqr:queues:old", &format!("data {n}")],
            );
        }
    },
    // Their timers run out by themselves.
    bury: |_| {},
    has_ids: false,
};

const BLUEQUE: Origin = Origin {
    from: "blueque:old",
    put: |sandbox, count| put_tasks(sandbox, "blueque", "LPUSH", count),
    bury: |sandbox| bury_listeners(sandbox, "blueque"),
    has_ids: true,
};

/// As its design note has it: a task is started as it is taken.
const BLUEQUE_NOTE: Origin = Origin {
    from: "blueque:old --layout document",
    put: |sandbox, count| put_tasks(sandbox, "bluequeue", "RPUSH", count),
    bury: |sandbox| bury_listeners(sandbox, "bluequeue"),
    has_ids: true,
};

fn put_tasks(sandbox: &Sandbox, prefix: &str, push: &str, count: usize) {
    ask(
        sandbox,
        &["ZINCRBY", &format!("{prefix}_queues"), "0", "old"],
    );
    let pending = format!("{prefix}_pending_tasks_old");
    for n in 0..count {
        let (task, data) = (format!("{prefix}_task_id-{n}"), format!("data {n}"));
        let mut words = vec!["HSET", &task, "status", "pending", "queue", "old"];
        words.extend(["parameters", &data, "created", "1.5", "updated", "1.5"]);
        ask(sandbox, &words);
        ask(sandbox, &[push, &pending, &format!("id-{n}")]);
    }
}

fn bury_listeners(sandbox: &Sandbox, prefix: &str) {
    let beats = format!("{prefix}_beats_old");
    for listener in ask(sandbox, &["ZRANGE", &beats, "0", "-1"]).array() {
        ask(sandbox, &["ZADD", &beats, "1", &listener.text()]);
    }
}

fn ask(sandbox: &Sandbox, words: &[&str]) -> windlass_testkit::redis::Reply {
    sandbox.store.server().command(words)
}

fn bridge(sandbox: &Sandbox, origin: &Origin) -> Value {
    let line = format!("interop bridge --from {} --to new --json", origin.from);
    sandbox.run(&line).ok().json()
}

/// Waiting and running at the older system.
fn left(sandbox: &Sandbox) -> u64 {
    sum(sandbox, &["waiting", "running"])
}

fn sum(sandbox: &Sandbox, figures: &[&str]) -> u64 {
    let seen = sandbox.run("interop inspect --json").ok().json();
    let queues = seen.as_array().unwrap().iter();
    let figure = |seen: &Value, name: &&str| seen[*name].as_u64().unwrap();
    queues
        .flat_map(|seen| figures.iter().map(move |name| figure(seen, name)))
        .sum()
}

fn ready(sandbox: &Sandbox) -> u64 {
    let stats = sandbox.run("queue stats new --json");
    match stats.code {
        Some(0) => stats.json()["ready"].as_u64().unwrap(),
        _ => 0,
    }
}

fn carried_over(origin: &Origin) {
    let sandbox = Sandbox::on(TestStore::redis());
    (origin.put)(&sandbox, 250);
    assert_eq!(left(&sandbox), 250);

    let report = bridge(&sandbox, origin);

    assert_eq!(report["carried"], 250);
    assert_eq!(report["refused"].as_array().unwrap().len(), 0);
    assert_eq!((left(&sandbox), ready(&sandbox)), (0, 250));
    let first = sandbox.claim("new");
    assert_eq!(first["payload"], "data 0", "the order stays");
    if origin.has_ids {
        assert_eq!(first["id"], "id-0");
    }
    assert_eq!(bridge(&sandbox, origin)["carried"], 0, "nothing is left");
}

fn killed(origin: &Origin) {
    let sandbox = Sandbox::on(TestStore::redis());
    (origin.put)(&sandbox, MANY);
    let line = format!("interop bridge --from {} --to new --follow", origin.from);
    for _ in 0..KILLS {
        let before = ready(&sandbox);
        let mut follower = sandbox.start(&line);
        until("the bridge carries something over", || {
            let now = ready(&sandbox);
            // The rest may be in the hands of those that were killed, whose time is not over yet.
            if now > before || sum(&sandbox, &["waiting"]) == 0 {
                Ok(())
            } else {
                Err(format!("{now} are ready"))
            }
        });
        follower.kill().unwrap();
        follower.wait().unwrap();
    }
    (origin.bury)(&sandbox);

    until("everything is carried over", || {
        bridge(&sandbox, origin);
        match left(&sandbox) {
            0 => Ok(()),
            left => Err(format!("{left} are left")),
        }
    });

    let ready = usize::try_from(ready(&sandbox)).unwrap();
    assert_eq!(payloads(&sandbox).len(), MANY, "nothing is lost");
    if origin.has_ids {
        assert_eq!(ready, MANY, "nothing is there twice");
    } else {
        // What one bridge had in its hands when it was killed.
        assert!((MANY..=MANY + 100 * KILLS).contains(&ready), "{ready}");
    }
}

fn payloads(sandbox: &Sandbox) -> BTreeSet<String> {
    let mut payloads = BTreeSet::new();
    loop {
        let claimed = sandbox.run("claim new --max 100 --json").ok().json();
        let claimed = claimed.as_array().unwrap();
        if claimed.is_empty() {
            return payloads;
        }
        payloads.extend(claimed.iter().map(|job| job["payload"].to_string()));
    }
}

#[test]
fn items_of_redis_work_queue_are_carried_over_under_their_ids() {
    carried_over(&WORK_QUEUE);
}

#[test]
fn tasks_of_worqr_are_carried_over() {
    carried_over(&WORQR);
}

#[test]
fn tasks_of_blueque_are_carried_over_under_their_ids() {
    carried_over(&BLUEQUE);
}

#[test]
fn a_bridge_from_redis_work_queue_loses_nothing_when_it_is_killed() {
    killed(&WORK_QUEUE);
}

#[test]
fn a_bridge_from_worqr_loses_nothing_when_it_is_killed() {
    killed(&WORQR);
}

#[test]
fn a_bridge_from_blueque_loses_nothing_when_it_is_killed() {
    killed(&BLUEQUE);
}

#[test]
fn a_bridge_from_the_note_of_blueque_loses_nothing_when_it_is_killed() {
    killed(&BLUEQUE_NOTE);
}

#[test]
fn what_the_queue_does_not_take_stays_where_it_was() {
    let sandbox = Sandbox::on(TestStore::redis());
    (WORK_QUEUE.put)(&sandbox, 3);
    let huge = "x".repeat(2 * 1024 * 1024);
    ask(&sandbox, &["SET", "old:item:id-1", &huge]);

    let line = "interop bridge --from redis-work-queue:old --to new --json";
    let report = sandbox.run(line).exits(1).json();

    assert_eq!(report["carried"], 2);
    assert_eq!(report["refused"][0]["id"], "id-1");
    assert_eq!((left(&sandbox), ready(&sandbox)), (1, 2));
    assert_eq!(ask(&sandbox, &["EXISTS", "old:item:id-1"]).integer(), 1);
}

#[test]
fn ids_that_no_job_can_have_are_carried_over_all_the_same() {
    let sandbox = Sandbox::on(TestStore::redis());
    let odd = "line\none";
    ask(&sandbox, &["SET", &format!("old:item:{odd}"), "data"]);
    ask(&sandbox, &["LPUSH", "old:queue", odd]);

    assert_eq!(bridge(&sandbox, &WORK_QUEUE)["carried"], 1);

    let job = sandbox.claim("new");
    let id = job["id"].as_str().unwrap();
    assert!(id.starts_with("interop-"), "{id}");
    assert_eq!(job["payload"], "data");
}
