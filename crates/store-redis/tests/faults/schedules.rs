//! The schedules of the fixture.

use std::time::Duration;

use windlass_core::store::{Overlap, PlannedInstant, Ran, Refill, Rule, Run};
use windlass_core::{Priority, QueueName, Schedule, Store, Timestamp};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::schedule_name;

use crate::fixture::job;

pub(crate) fn schedule(name: &str) -> Schedule {
    let rule = Rule::every(Duration::from_secs(1)).unwrap();
    let job = job("of a schedule").priority(Priority::new(9).unwrap());
    let mut schedule = Schedule::new(schedule_name(name), rule, job);
    schedule.overlap = Overlap::Cancel;
    schedule
}

/// A schedule that exists, with another payload.
pub(crate) fn changed() -> Schedule {
    let mut changed = schedule("due");
    changed.job.payload = "other".into();
    changed
}

/// Puts a schedule with a job that waits for another. Returns a refill with an instant that is due at
/// `due_ms`.
pub(crate) async fn put(store: &RedisStore, q: &QueueName, due_ms: u64) -> Refill {
    let mut buffered = schedule("due");
    buffered.overlap = Overlap::Buffer;
    store.put_schedule(q, buffered, None).await.unwrap();
    for nonce in ["1", "2"] {
        let nonce = nonce.to_owned();
        let run = Run::Now {
            nonce,
            is_forced: false,
        };
        let ran = store.run_schedule(q, &schedule_name("due"), run).await;
        assert!(matches!(ran.unwrap().unwrap()[0], Ran::Enqueued(_)));
    }
    let put = store.put_schedule(q, schedule("due"), None).await.unwrap();
    let request = put.refill.expect("it has no instants");
    let at = due_ms - due_ms % 1000;
    Refill {
        name: request.name,
        revision: request.revision,
        after: request.after,
        missed: 0,
        missed_until: request.after,
        instants: vec![PlannedInstant {
            at: Timestamp::from_ms(at),
            jitter: Duration::ZERO,
        }],
        known_until: Timestamp::from_ms(at + 1000),
    }
}

/// A refill with a later instant.
pub(crate) fn later(refill: &Refill) -> Refill {
    let mut refill = refill.clone();
    refill.instants[0].at = refill.known_until;
    refill
}
