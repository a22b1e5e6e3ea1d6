//! Clients killed at any command of any operation: after a rescue no job is lost, and none is in two
//! lists.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::Due;
use windlass_interop::delayed_queue::{DelayedJob, DelayedQueue, PREFIX, ReturnTo};
use windlass_testkit::redis::{CutPoint, FaultProxy};

use crate::fixture::{Fixture, NO_WAIT, PAST, queue_at};

/// Operations, and the payload of the job that each may add or remove.
const OPERATIONS: [(&str, &str); 10] = [
    ("submit", "new"),
    ("move_due", ""),
    ("take", ""),
    ("take_waiting", ""),
    ("ack", "held"),
    ("nack_front", ""),
    ("nack_back", ""),
    ("nack_later", ""),
    ("renew", ""),
    ("rescue", ""),
];

const JOBS: [&str; 4] = ["held", "abandoned", "waiting", "delayed"];

/// Sets up one job in each state, and returns the held one.
async fn arrange(fixture: &Fixture) -> DelayedJob {
    fixture.command("FLUSHALL");
    for payload in &JOBS[..3] {
        fixture.due(payload).await;
    }
    let held = fixture.take().await;
    fixture.original().move_to_unacked("1").unwrap();
    fixture.queue.submit("delayed", PAST).await.unwrap();
    held
}

async fn perform(queue: &DelayedQueue, operation: &str, held: &DelayedJob) {
    let _ = match operation {
        "submit" => queue.submit("new", Due::Now).await.map(drop),
        "move_due" => queue.move_due().await.map(drop),
        "take" => queue.take(NO_WAIT).await.map(drop),
        "take_waiting" => {
            // The result does not matter: the client may have been killed.
            let _ = queue.take(NO_WAIT).await;
            queue.take(Duration::from_millis(100)).await.map(drop)
        }
        "ack" => queue.ack(held).await.map(drop),
        "nack_front" => queue.nack(held, ReturnTo::Front).await.map(drop),
        "nack_back" => queue.nack(held, ReturnTo::Back).await.map(drop),
        "nack_later" => {
            let later = ReturnTo::Backlog(Duration::ZERO);
            queue.nack(held, later).await.map(drop)
        }
        "renew" => queue.renew(held).await.map(drop),
        "rescue" => queue.rescue_all().await.map(drop),
        other => panic!("no such operation: {other}"),
    };
}

/// Checks that each job exists once, and runs all of them. `maybe` may exist or not.
async fn check(fixture: &Fixture, maybe: &str, why: &str) {
    let keys = fixture.command(&format!("KEYS {PREFIX}:job:*"));
    let mut locations: BTreeMap<String, usize> = BTreeMap::new();
    for id in [fixture.line(), fixture.unacked(), fixture.backlog()].concat() {
        *locations.entry(id).or_default() += 1;
    }
    assert_eq!(locations.len(), keys.array().len(), "{why}: {locations:?}");
    assert!(
        locations.values().all(|count| *count == 1),
        "{why}: {locations:?}"
    );

    fixture.queue.rescue_all().await.unwrap();
    fixture.queue.move_due().await.unwrap();
    let mut payloads = Vec::new();
    while let Some(job) = fixture.queue.take(NO_WAIT).await.unwrap() {
        payloads.push(String::from_utf8(job.payload.to_vec()).unwrap());
        fixture.queue.ack(&job).await.unwrap();
    }
    payloads.sort_unstable();
    let mut expected: Vec<&str> = JOBS.to_vec();
    if payloads.iter().any(|payload| payload == maybe) && !expected.contains(&maybe) {
        expected.push(maybe);
    }
    if payloads.iter().all(|payload| payload != maybe) {
        expected.retain(|payload| *payload != maybe);
    }
    expected.sort_unstable();
    assert_eq!(payloads, expected, "{why}");
    fixture.assert_empty(why);
}

/// Waits until the connection was cut: the client counts as killed from then on.
async fn until_cut(proxy: &FaultProxy) {
    while !proxy.was_cut() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_killed_at_any_command_loses_and_duplicates_nothing() {
    let fixture = Fixture::new().await;
    let proxy = FaultProxy::before(&fixture.redis);
    for (operation, maybe) in OPERATIONS {
        let mut count = 0;
        for cut in CutPoint::each() {
            let held = arrange(&fixture).await;
            // Makes the client load each script again, which is one more command.
            fixture.command("SCRIPT FLUSH");
            proxy.arm(CutPoint::Never);
            let queue = queue_at(&proxy.url()).await;
            proxy.count_from_here(cut);
            tokio::select! {
                () = perform(&queue, operation, &held) => {}
                () = until_cut(&proxy) => {}
            }
            let was_cut = proxy.was_cut();
            let why = format!("{operation} {cut:?} {:?}", proxy.commands());
            proxy.arm(CutPoint::Never);
            drop(queue);
            check(&fixture, maybe, &why).await;
            if !was_cut {
                break;
            }
            count += 1;
        }
        assert!(count >= 2, "{operation} was cut {count} times");
    }
}
