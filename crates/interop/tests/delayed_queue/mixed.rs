//! The original's commands and Windlass on the same keys.

use windlass_core::Timestamp;
use windlass_interop::delayed_queue::{AckStatus, ReturnTo};

use crate::fixture::{FUTURE, Fixture, NO_WAIT};

#[tokio::test]
async fn jobs_of_the_original_are_moved_and_finished_by_windlass() {
    let fixture = Fixture::new().await;
    let mut original = fixture.original();
    original.submit("id-1", "dear Ann", 1);
    original.submit("id-2", "dear Bob", FUTURE);
    assert_eq!(fixture.queue.move_due().await.unwrap(), 1);
    let job = fixture.take().await;
    assert_eq!(
        (job.id.as_str(), &job.payload[..]),
        ("id-1", &b"dear Ann"[..])
    );
    assert_eq!(job.due_time, Some(Timestamp::from_ms(1_000)));
    assert_eq!(fixture.queue.ack(&job).await.unwrap(), AckStatus::Done);
    assert_eq!(original.take("0.01"), None);
    assert_eq!(fixture.backlog(), ["id-2"]);
}

#[tokio::test]
async fn jobs_of_windlass_are_moved_and_finished_by_the_original() {
    let fixture = Fixture::new().await;
    let mut original = fixture.original();
    let due = crate::fixture::PAST;
    let id = fixture.queue.submit("dear Ann", due).await.unwrap();
    original.move_due();
    let job = original.take("1").unwrap();
    assert_eq!(job.id, id);
    assert_eq!(job.payload.as_deref(), Some("dear Ann"));
    assert_eq!(job.due_time.as_deref(), Some("1"));
    assert!(original.nack(&id));
    let job = fixture.take().await;
    let returned = fixture.queue.nack(&job, ReturnTo::Back).await.unwrap();
    assert_eq!(returned, AckStatus::Done);
    assert_eq!(original.take("1").unwrap().id, id);
    assert!(original.ack(&id));
    fixture.assert_empty("after the ack of the original");
}

#[tokio::test]
async fn a_slow_original_ends_a_job_that_was_rescued_from_it() {
    for is_acked in [true, false] {
        let fixture = Fixture::new().await;
        let mut original = fixture.original();
        let id = fixture.due("x").await;
        original.take("1").unwrap();
        fixture.queue.rescue_all().await.unwrap();
        let job = fixture.take().await;
        // It has no fence: it ends the job of another worker.
        if is_acked {
            assert!(original.ack(&id));
            assert_eq!(fixture.queue.ack(&job).await.unwrap(), AckStatus::Gone);
        } else {
            assert!(original.nack(&id));
            assert_eq!(fixture.line(), [id]);
            assert_eq!(fixture.queue.ack(&job).await.unwrap(), AckStatus::Done);
        }
        assert_eq!(fixture.queue.take(NO_WAIT).await.unwrap(), None);
        fixture.assert_empty("the job ran to its end");
    }
}
