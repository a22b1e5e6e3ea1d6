//! A mixed fleet: servers, leaders and workers of both, some of which die with their jobs, and a
//! monitor.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use windlass_interop::delayed_queue::{AckStatus, DelayedQueue};

use crate::fixture::{Fixture, PAST, queue_at};
use crate::original::Original;

const JOBS: usize = 1_000;
const WORKERS: usize = 3;

/// A worker dies with every such job and is replaced.
const DIES_AT: usize = 20;

#[derive(Default)]
struct Fleet {
    /// How often each payload was finished.
    finished: Mutex<BTreeMap<String, usize>>,
    /// Jobs of dead workers.
    abandoned: AtomicU64,
    is_over: AtomicBool,
}

impl Fleet {
    fn finish(&self, payload: &str) {
        let mut finished = self.finished.lock().unwrap();
        *finished.entry(payload.to_owned()).or_default() += 1;
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

/// An original worker, which is also a leader.
fn work_as_original(mut original: Original, fleet: &Fleet) {
    let mut taken = 0;
    while !fleet.is_over() {
        original.move_due();
        let Some(job) = original.take("0.05") else {
            continue;
        };
        taken += 1;
        if taken % DIES_AT == 0 {
            fleet.abandoned.fetch_add(1, Ordering::SeqCst);
        } else {
            fleet.finish(&job.payload.unwrap());
            assert!(original.ack(&job.id), "{}", job.id);
        }
    }
}

async fn work_as_windlass(queue: DelayedQueue, fleet: Arc<Fleet>) {
    let mut taken = 0;
    while !fleet.is_over() {
        queue.move_due().await.unwrap();
        let Some(job) = queue.take(Duration::from_millis(50)).await.unwrap() else {
            continue;
        };
        taken += 1;
        if taken % DIES_AT == 0 {
            fleet.abandoned.fetch_add(1, Ordering::SeqCst);
        } else {
            fleet.finish(std::str::from_utf8(&job.payload).unwrap());
            assert_eq!(queue.ack(&job).await.unwrap(), AckStatus::Done, "{job:?}");
        }
    }
}

/// Returns jobs of dead workers once nothing else is left, so that no time limit can be too short for
/// a busy machine. Returns when every job is finished.
async fn monitor(queue: &DelayedQueue, fleet: &Fleet) {
    loop {
        let counts = queue.counts().await.unwrap();
        let abandoned = fleet.abandoned.load(Ordering::SeqCst);
        if counts.delayed + counts.due > 0 || counts.unacked != abandoned {
            tokio::time::sleep(Duration::from_millis(5)).await;
        } else if abandoned == 0 {
            return;
        } else {
            fleet.abandoned.store(0, Ordering::SeqCst);
            let report = queue.rescue_all().await.unwrap();
            assert_eq!(report.returned, abandoned);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_fleet_finishes_every_job_once_though_workers_die() {
    let fixture = Fixture::new().await;
    for number in 0..JOBS / 2 {
        let payload = format!("theirs {number}");
        fixture
            .original()
            .submit(&format!("id-{number}"), &payload, 1);
        let payload = format!("ours {number}");
        fixture.queue.submit(payload, PAST).await.unwrap();
    }
    let fleet = Arc::new(Fleet::default());
    let mut ours = tokio::task::JoinSet::new();
    let mut theirs = Vec::new();
    for _ in 0..WORKERS {
        let (original, shared) = (fixture.original(), Arc::clone(&fleet));
        theirs.push(thread::spawn(move || work_as_original(original, &shared)));
        let queue = queue_at(&fixture.redis.url()).await;
        ours.spawn(work_as_windlass(queue, Arc::clone(&fleet)));
    }

    monitor(&fixture.queue, &fleet).await;

    fleet.is_over.store(true, Ordering::SeqCst);
    ours.join_all().await;
    for thread in theirs {
        thread.join().unwrap();
    }
    let finished = fleet.finished.lock().unwrap();
    assert_eq!(finished.len(), JOBS);
    assert!(finished.values().all(|times| *times == 1));
    fixture.assert_empty("after the last job");
}
