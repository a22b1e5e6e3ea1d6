//! What is held, dropped and renewed, without a store.

use bytes::Bytes;
use windlass_core::{
    ClaimedJob, Headers, Priority, QueueName, RetryPolicy, SystemClock, Timestamp,
};
use windlass_store_memory::MemoryStore;

use super::*;
use crate::run::Origin;

const SOON: Duration = Duration::from_secs(1);

/// Holds a claim of so many jobs.
fn hold(holdings: &mut Holdings, jobs: usize) -> Vec<Arc<Run>> {
    let (boot, number, fence) = holdings.next_claim();
    let origin = Arc::new(Origin {
        store: Arc::new(MemoryStore::new(Arc::new(SystemClock))),
        queue: QueueName::new("mail").expect("it is a name"),
    });
    let token = Token { number, nonce: 0 };
    let runs: Vec<_> = (0..jobs)
        .map(|index| {
            let place = (token, index);
            let (origin, fence) = (Arc::clone(&origin), Arc::clone(&fence));
            Arc::new(Run::new(origin, job(), place, fence, None))
        })
        .collect();
    let held = Some((token, runs.clone()));
    holdings.answered(&boot, (number, number), held, BootTime::NEVER);
    runs
}

fn job() -> ClaimedJob {
    ClaimedJob {
        id: JobId::generate(),
        kind: None,
        payload: Bytes::new(),
        headers: Headers::default(),
        priority: Priority::default(),
        attempt: 1,
        expiries: 0,
        retry: RetryPolicy::default(),
        timeout: None,
        created_at: Timestamp::default(),
        due_at: Timestamp::default(),
    }
}

/// How many claims the renewal that is due now names.
fn named(holdings: &mut Holdings) -> usize {
    holdings.hurry();
    match &holdings.due(BootTime::now(), SOON)[..] {
        [(Renewal::Worker { tokens, .. }, _)] => tokens.len(),
        due => panic!("one renewal is due: {due:?}"),
    }
}

fn renewed(holdings: &mut Holdings) {
    let boot = holdings.boots().remove(0);
    holdings.renewed(&boot, true, BootTime::NEVER);
}

fn is_due(holdings: &Holdings) -> bool {
    let at = holdings.lives[0].renew_at;
    holdings.next_look().is_some() && at <= BootTime::now()
}

/// What the renewal that is due now says it knows everything up to.
fn settled(holdings: &mut Holdings) -> u64 {
    holdings.hurry();
    match &holdings.due(BootTime::now(), SOON)[..] {
        [(Renewal::Worker { settled, .. }, _)] => *settled,
        due => panic!("one renewal is due: {due:?}"),
    }
}

#[test]
fn a_renewal_gives_back_no_claim_whose_answer_is_on_its_way() {
    let mut holdings = Holdings::new(BootId::generate());
    let (boot, first, _) = holdings.next_claim();
    let (_, second, _) = holdings.next_claim();
    let (_, third, _) = holdings.next_claim();
    // The third was given up, so that there is something to renew, and the second overtook the first.
    holdings.given_up(&boot, (third, third), 1);
    holdings.answered(&boot, (second, second), None, BootTime::NEVER);

    assert!(settled(&mut holdings) < first);

    assert!(holdings.answered(&boot, (first, first), None, BootTime::NEVER));
    assert_eq!(settled(&mut holdings), third);
}

#[test]
fn nobody_is_given_a_number_that_a_waiting_claim_may_go_on_to() {
    let mut holdings = Holdings::new(BootId::generate());
    holdings.park(true);
    let (boot, asked, _) = holdings.next_claim();

    assert!(holdings.next_claim_beside().is_none());

    holdings.answered(&boot, (asked, asked + 1), None, BootTime::NEVER);
    holdings.park(false);
    let beside = holdings.next_claim_beside();
    assert_eq!(beside.map(|(_, number, _)| number), Some(asked + 2));
}

#[test]
fn a_claim_that_waited_under_many_numbers_is_closed_with_the_last() {
    let mut holdings = Holdings::new(BootId::generate());
    let (boot, asked, _) = holdings.next_claim();

    holdings.given_up(&boot, (asked, asked + 7), 1);

    assert_eq!(settled(&mut holdings), asked + 7);
    assert_eq!(holdings.next_claim().1, asked + 8);
}

#[test]
fn a_renewal_that_was_asked_for_while_one_is_on_its_way_is_not_put_off_by_its_answer() {
    let mut holdings = Holdings::new(BootId::generate());
    hold(&mut holdings, 2);

    named(&mut holdings);
    renewed(&mut holdings);
    assert!(!is_due(&holdings), "nobody asked");

    named(&mut holdings);
    holdings.hurry();
    renewed(&mut holdings);
    assert!(is_due(&holdings));
}

#[test]
fn a_renewal_that_takes_longer_than_its_retry_does_not_put_off_what_was_asked_for_then() {
    let mut holdings = Holdings::new(BootId::generate());
    hold(&mut holdings, 1);

    holdings.hurry();
    holdings.due(BootTime::now(), Duration::ZERO);
    holdings.hurry();
    renewed(&mut holdings);

    assert!(is_due(&holdings));
}

#[test]
fn a_claim_given_up_while_a_renewal_is_on_its_way_is_given_back_by_the_next() {
    let mut holdings = Holdings::new(BootId::generate());
    hold(&mut holdings, 1);
    let (boot, lost, _) = holdings.next_claim();

    named(&mut holdings);
    holdings.given_up(&boot, (lost, lost), 1);
    renewed(&mut holdings);

    assert!(is_due(&holdings));
    assert_eq!(settled(&mut holdings), lost);
}

#[test]
fn jobs_dropped_untold_are_left_to_renewals_once_nothing_of_their_claim_is_held() {
    let mut holdings = Holdings::new(BootId::generate());
    let runs = hold(&mut holdings, 2);

    holdings.drop_untold(&runs[..1]);
    assert_eq!(named(&mut holdings), 1);
    renewed(&mut holdings);
    holdings.forget(&runs[1..]);

    assert_eq!(named(&mut holdings), 0);
    renewed(&mut holdings);
    assert!(holdings.next_look().is_none(), "the store has heard");
}

#[test]
fn jobs_dropped_while_a_renewal_that_names_them_is_on_its_way_are_left_to_the_next() {
    let mut holdings = Holdings::new(BootId::generate());
    let runs = hold(&mut holdings, 1);

    assert_eq!(named(&mut holdings), 1);
    holdings.drop_untold(&runs);
    renewed(&mut holdings);

    assert!(holdings.next_look().is_some(), "one more has to go");
    assert_eq!(named(&mut holdings), 0);
}

#[test]
fn renewals_go_on_at_once_until_every_page_has_gone_back() {
    let mut holdings = Holdings::new(BootId::generate());
    let claims: Vec<_> = (0..3).map(|_| hold(&mut holdings, 70)).collect();
    holdings.drop_untold(&claims.concat());

    for _ in 0..2 {
        assert_eq!(named(&mut holdings), 0);
        renewed(&mut holdings);
        assert!(is_due(&holdings));
    }
    named(&mut holdings);
    renewed(&mut holdings);

    assert!(
        holdings.next_look().is_none(),
        "two hundred and ten went back"
    );
}

#[test]
fn jobs_that_are_trusted_no_more_go_back_when_their_handlers_had_time_to_stop() {
    let mut holdings = Holdings::new(BootId::generate());
    hold(&mut holdings, 3);
    let fence = holdings.lives[0].fence.time();

    let fenced = holdings.take_fenced(BootTime::now(), SOON);

    assert_eq!(fenced.len(), 3);
    let back = fence.plus(SOON);
    assert_eq!(holdings.next_look(), Some(back), "and no sooner");
    assert!(holdings.take_fenced(back, SOON).is_empty());
    assert_eq!(holdings.due(back, SOON).len(), 1);
}

#[test]
fn nothing_is_left_to_give_back_when_the_store_holds_no_lease() {
    let mut holdings = Holdings::new(BootId::generate());
    let claims: Vec<_> = (0..3).map(|_| hold(&mut holdings, 70)).collect();
    holdings.drop_untold(&claims.concat());
    named(&mut holdings);

    let boot = holdings.boots().remove(0);
    holdings.renewed(&boot, false, BootTime::NEVER);

    assert!(holdings.next_look().is_none());
}
