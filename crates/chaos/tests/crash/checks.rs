//! Final checks and the summary of a crash test.

use windlass_chaos::event::Event;
use windlass_chaos::invariants::ListedJob;
use windlass_chaos::ledger::Ledger;
use windlass_core::store::Reason;
use windlass_core::{JobState, OutcomeStatus, QueueName};
use windlass_testkit::{StoreUnderTest, paging, soundness};

/// Asserts that the store is consistent and an audit repairs nothing.
pub(crate) async fn assert_clean(opened: &StoreUnderTest, queue: &QueueName) {
    let dump = opened.dump.dump(queue).await.unwrap().unwrap();
    assert_eq!(soundness::problems(&dump), [""; 0]);
    for job in dump.jobs.iter().filter(|job| job.state == JobState::Dead) {
        // No actor fails a job permanently: only four lost leases can have ended it.
        assert!(
            job.reason == Some(Reason::Poison) && job.expiries >= 4,
            "{job:?}"
        );
    }
    let (_, repairs) = paging::audit(opened.store.as_ref(), queue).await.unwrap();
    assert_eq!(repairs, []);
}

/// Prints a summary of the run.
pub(crate) fn report(ledger: &Ledger, listing: &[ListedJob], killed: usize) {
    let count = |matches: &dyn Fn(&Event) -> bool| {
        ledger.events().filter(|(_, event)| matches(event)).count()
    };
    let outcomes = |status: OutcomeStatus| {
        count(&|event| matches!(event, Event::Outcome(other, _) if *other == status))
    };
    let unanswered: usize = ledger
        .processes
        .iter()
        .map(|process| process.unanswered().len())
        .sum();
    let ended = |state: JobState| listing.iter().filter(|(_, found)| *found == state).count();
    println!(
        "{killed} kills, {} processes, {} lines; lease {:?}",
        ledger.processes.len(),
        ledger.lines,
        ledger.lease
    );
    println!(
        "enqueued in {} calls, {unanswered} ids unanswered; accepted {}, duplicate {}; {} jobs: {} succeeded, {} dead",
        count(&|event| matches!(event, Event::Enqueuing(_))),
        count(&|event| matches!(event, Event::Accepted(_))),
        count(&|event| matches!(event, Event::Duplicate(_))),
        listing.len(),
        ended(JobState::Succeeded),
        ended(JobState::Dead),
    );
    println!(
        "claimed {}, completed {}, lost {}, scheduled {}, released {}, snoozed {}, store errors {}",
        count(&|event| matches!(event, Event::Claimed(_))),
        outcomes(OutcomeStatus::Completed),
        outcomes(OutcomeStatus::LeaseLost),
        outcomes(OutcomeStatus::Retrying),
        outcomes(OutcomeStatus::Released),
        outcomes(OutcomeStatus::Snoozed),
        count(&|event| matches!(event, Event::StoreError(_))),
    );
    assert!(
        outcomes(OutcomeStatus::Completed) > 0,
        "no job was completed: the run proves nothing"
    );
}
