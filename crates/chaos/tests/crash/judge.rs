//! What is judged when a crash test is over, and what is told of it.

use windlass_chaos::LEASE;
use windlass_chaos::event::Event;
use windlass_chaos::invariants::Found;
use windlass_chaos::ledger::Ledger;
use windlass_core::{JobState, OutcomeStatus, QueueName, Reason};
use windlass_testkit::{StoreUnderTest, paging, soundness};

/// Nothing to repair, nothing that contradicts itself.
pub(crate) async fn assert_clean(opened: &StoreUnderTest, queue: &QueueName) {
    let dump = opened.dump.dump(queue).await.unwrap().unwrap();
    assert_eq!(soundness::problems(&dump), [""; 0]);
    for job in dump.jobs.iter().filter(|job| job.state == JobState::Dead) {
        // No actor fails a job for good: only the loss of three holders may have ended it.
        assert!(
            job.reason == Some(Reason::Poison) && job.expiries >= 3,
            "{job:?}"
        );
    }
    let (_, repairs) = paging::audit(opened.store.as_ref(), queue).await.unwrap();
    assert_eq!(repairs, []);
}

/// What the run went through, so that a person sees that it was worth something.
pub(crate) fn report(ledger: &Ledger, listing: &[Found], killed: usize) {
    let count = |is_meant: &dyn Fn(&Event) -> bool| {
        ledger.events().filter(|(_, event)| is_meant(event)).count()
    };
    let told =
        |how: OutcomeStatus| count(&|event| matches!(event, Event::Told(told, _) if *told == how));
    let maybe: usize = ledger
        .lives
        .iter()
        .map(|life| life.unanswered().len())
        .sum();
    let ended = |state: JobState| listing.iter().filter(|(_, found)| *found == state).count();
    println!(
        "{killed} kills, {} lives, {} lines; lease {LEASE:?}",
        ledger.lives.len(),
        ledger.lines
    );
    println!(
        "asked in {} calls, {maybe} ids unanswered; accepted {}, duplicate {}; {} jobs: {} succeeded, {} dead",
        count(&|event| matches!(event, Event::Asking(_))),
        count(&|event| matches!(event, Event::Accepted(_))),
        count(&|event| matches!(event, Event::Duplicate(_))),
        listing.len(),
        ended(JobState::Succeeded),
        ended(JobState::Dead),
    );
    println!(
        "claimed {}, completed {}, lost {}, scheduled {}, released {}, snoozed {}, trouble {}",
        count(&|event| matches!(event, Event::Claimed(_))),
        told(OutcomeStatus::Completed),
        told(OutcomeStatus::LeaseLost),
        told(OutcomeStatus::Retrying),
        told(OutcomeStatus::Released),
        told(OutcomeStatus::Snoozed),
        count(&|event| matches!(event, Event::Trouble(_))),
    );
    assert!(
        told(OutcomeStatus::Completed) > 0,
        "nothing was done: the run shows nothing"
    );
}
