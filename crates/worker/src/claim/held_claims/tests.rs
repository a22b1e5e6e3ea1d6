//! Tracking, dropping and renewing claims, without a store.

use bytes::Bytes;
use windlass_core::store::{ClaimedJob, Headers};
use windlass_core::{JobId, Priority, QueueName, RetryPolicy, SystemClock, Timestamp};
use windlass_store_memory::MemoryStore;

use super::*;
use crate::run::attempt::{LocalExpiry, Origin};

const SOON: Duration = Duration::from_secs(1);

/// Adds an answered claim of `jobs` jobs.
fn hold(held_claims: &mut HeldClaims, jobs: usize) -> Vec<Arc<Attempt>> {
    hold_until(held_claims, jobs, (BootTime::now(), BootTime::NEVER)).0
}

/// Adds an answered claim that expires and is renewed at these times. Returns whether the renewal loop has to
/// be woken.
fn hold_until(
    held_claims: &mut HeldClaims,
    jobs: usize,
    (expiry, renew_at): (BootTime, BootTime),
) -> (Vec<Arc<Attempt>>, bool) {
    let (boot, number) = held_claims.next_claim();
    let expiry = Arc::new(LocalExpiry::at(expiry));
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let queue = QueueName::new("mail").expect("valid name");
    let origin = Arc::new(Origin::new(store, queue));
    let token = Token { number, nonce: 0 };
    let attempts: Vec<_> = (0..jobs)
        .map(|index| {
            let position = (token, index);
            let (origin, expiry) = (Arc::clone(&origin), Arc::clone(&expiry));
            Arc::new(Attempt::new(origin, job(), position, expiry, None))
        })
        .collect();
    let held = Some((token, attempts.clone()));
    let is_woken = held_claims.claim_answered(&boot, (number, number), held, renew_at);
    (attempts, is_woken)
}

#[test]
fn the_renewal_loop_is_not_woken_for_a_claim_if_it_wakes_up_early_enough() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let now = BootTime::now();
    let late = (BootTime::NEVER, now.plus(3 * SOON));
    let (first, is_woken) = hold_until(&mut held_claims, 1, late);
    assert!(is_woken, "it sleeps without end");
    held_claims.plan_wakeup(now.plus(SOON));

    held_claims.remove(&first, true);
    let (second, is_woken) = hold_until(&mut held_claims, 1, late);
    assert!(!is_woken);
    held_claims.remove(&second, true);
    let (third, is_woken) = hold_until(&mut held_claims, 1, (BootTime::NEVER, now));
    assert!(is_woken, "it is due before");

    held_claims.remove(&third, true);
    assert_eq!(held_claims.plan_wakeup(now.plus(SOON)), None);
    assert!(hold_until(&mut held_claims, 1, late).1);
}

fn job() -> ClaimedJob {
    ClaimedJob {
        id: JobId::generate(),
        kind: None,
        payload: Bytes::new(),
        headers: Headers::default(),
        group: None,
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
fn named(held_claims: &mut HeldClaims) -> usize {
    held_claims.renew_now();
    match &held_claims.due_renewals(BootTime::now(), SOON)[..] {
        [Renewal::Worker { tokens, .. }] => tokens.len(),
        due => panic!("expected one renewal, got {due:?}"),
    }
}

fn renewed(held_claims: &mut HeldClaims) {
    let until = Some(Timestamp::default());
    let reply = Renewed {
        until,
        ..Renewed::default()
    };
    answered(held_claims, &[], &reply, BootTime::now());
}

fn answered(held_claims: &mut HeldClaims, tokens: &[Token], reply: &Renewed, expiry: BootTime) {
    let boot = held_claims.boots().remove(0);
    held_claims.renewed((&boot, tokens), reply, expiry, BootTime::NEVER);
}

fn is_due(held_claims: &HeldClaims) -> bool {
    let at = held_claims.by_boot[0].renew_at;
    held_claims.next_wakeup().is_some() && at <= BootTime::now()
}

/// The `settled` number of the renewal that is due now.
fn settled(held_claims: &mut HeldClaims) -> u64 {
    held_claims.renew_now();
    match &held_claims.due_renewals(BootTime::now(), SOON)[..] {
        [Renewal::Worker { settled, .. }] => *settled,
        due => panic!("expected one renewal, got {due:?}"),
    }
}

#[test]
fn a_renewal_releases_no_claim_whose_reply_is_in_flight() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let (boot, first) = held_claims.next_claim();
    let (_, second) = held_claims.next_claim();
    let (_, third) = held_claims.next_claim();
    // The third was abandoned, so there is something to renew; the second was answered before the
    // first.
    held_claims.claim_abandoned(&boot, (third, third), 1);
    held_claims.claim_answered(&boot, (second, second), None, BootTime::NEVER);

    assert!(settled(&mut held_claims) < first);

    assert!(held_claims.claim_answered(&boot, (first, first), None, BootTime::NEVER));
    assert_eq!(settled(&mut held_claims), third);
}

#[test]
fn no_claim_gets_a_number_that_a_blocking_claim_may_move_on_to() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    held_claims.is_blocking = true;
    let (boot, first) = held_claims.next_claim();

    assert!(held_claims.next_claim_unless_blocking().is_none());

    held_claims.claim_answered(&boot, (first, first + 1), None, BootTime::NEVER);
    held_claims.is_blocking = false;
    let next = held_claims.next_claim_unless_blocking();
    assert_eq!(next.map(|(_, number)| number), Some(first + 2));
}

#[test]
fn a_blocking_claim_is_closed_with_its_last_number() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let (boot, first) = held_claims.next_claim();

    held_claims.claim_abandoned(&boot, (first, first + 7), 1);

    assert_eq!(settled(&mut held_claims), first + 7);
    assert_eq!(held_claims.next_claim().1, first + 8);
}

#[test]
fn a_renewal_requested_while_one_is_in_flight_is_not_postponed_by_its_reply() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    hold(&mut held_claims, 2);

    named(&mut held_claims);
    renewed(&mut held_claims);
    assert!(!is_due(&held_claims), "no renewal was requested");

    named(&mut held_claims);
    held_claims.renew_now();
    renewed(&mut held_claims);
    assert!(is_due(&held_claims));
}

#[test]
fn a_renewal_slower_than_its_retry_does_not_postpone_one_requested_meanwhile() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    hold(&mut held_claims, 1);

    held_claims.renew_now();
    held_claims.due_renewals(BootTime::now(), Duration::ZERO);
    held_claims.renew_now();
    renewed(&mut held_claims);

    assert!(is_due(&held_claims));
}

#[test]
fn a_claim_abandoned_while_a_renewal_is_in_flight_is_released_by_the_next() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    hold(&mut held_claims, 1);
    let (boot, lost) = held_claims.next_claim();

    named(&mut held_claims);
    held_claims.claim_abandoned(&boot, (lost, lost), 1);
    renewed(&mut held_claims);

    assert!(is_due(&held_claims));
    assert_eq!(settled(&mut held_claims), lost);
}

#[test]
fn orphaned_jobs_are_left_to_renewals_when_no_job_of_their_claim_is_held() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let attempts = hold(&mut held_claims, 2);

    held_claims.remove(&attempts[..1], false);
    assert_eq!(named(&mut held_claims), 1);
    renewed(&mut held_claims);
    held_claims.remove(&attempts[1..], true);

    assert_eq!(named(&mut held_claims), 0);
    renewed(&mut held_claims);
    assert!(held_claims.next_wakeup().is_none(), "all are released");
}

#[test]
fn jobs_orphaned_while_a_renewal_that_names_them_is_in_flight_are_left_to_the_next() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let attempts = hold(&mut held_claims, 1);

    assert_eq!(named(&mut held_claims), 1);
    held_claims.remove(&attempts, false);
    renewed(&mut held_claims);

    assert!(
        held_claims.next_wakeup().is_some(),
        "one more renewal is due"
    );
    assert_eq!(named(&mut held_claims), 0);
}

#[test]
fn renewals_continue_immediately_until_every_page_is_released() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let claims: Vec<_> = (0..3).map(|_| hold(&mut held_claims, 70)).collect();
    held_claims.remove(&claims.concat(), false);

    for _ in 0..2 {
        assert_eq!(named(&mut held_claims), 0);
        renewed(&mut held_claims);
        assert!(is_due(&held_claims));
    }
    named(&mut held_claims);
    renewed(&mut held_claims);

    assert!(
        held_claims.next_wakeup().is_none(),
        "all 210 jobs are released"
    );
}

#[test]
fn jobs_that_expired_locally_are_released_after_their_handlers_had_time_to_stop() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let expiry = hold(&mut held_claims, 3)[0].expiry.time();

    let expired = held_claims.take_expired(BootTime::now(), SOON);

    assert_eq!(expired.len(), 3);
    let back = expiry.plus(SOON);
    assert_eq!(held_claims.next_wakeup(), Some(back), "not earlier");
    assert!(held_claims.take_expired(back, SOON).is_empty());
    assert_eq!(held_claims.due_renewals(back, SOON).len(), 1);
}

#[test]
fn nothing_is_left_to_release_when_the_store_holds_no_lease() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let claims: Vec<_> = (0..3).map(|_| hold(&mut held_claims, 70)).collect();
    held_claims.remove(&claims.concat(), false);
    named(&mut held_claims);

    answered(&mut held_claims, &[], &Renewed::default(), BootTime::now());

    assert!(held_claims.next_wakeup().is_none());
}

/// A reply from the part of the queue that has the lease.
fn partial(unreached: &[Token]) -> Renewed {
    Renewed {
        until: Some(Timestamp::default()),
        unreached: Some(unreached.to_vec()),
        ..Renewed::default()
    }
}

#[test]
fn a_claim_that_a_renewal_did_not_reach_expires_when_it_would_have() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let (far, near) = (hold(&mut held_claims, 2), hold(&mut held_claims, 2));
    let old = far[0].expiry.time();
    let tokens = [far[0].token, near[0].token];
    held_claims.renew_now();
    let now = BootTime::now();
    assert_eq!(held_claims.due_renewals(now, SOON).len(), 1);

    let new = now.plus(2 * SOON);
    answered(&mut held_claims, &tokens, &partial(&tokens[..1]), new);

    assert_eq!((far[1].expiry.time(), near[1].expiry.time()), (old, new));
    let retry_at = held_claims.by_boot[0].renew_at;
    assert_eq!(retry_at, now.plus(SOON), "as after an error");
    assert_eq!(held_claims.take_expired(retry_at, SOON).len(), 2);
    assert_eq!(held_claims.attempts().count(), 2, "the others are held");
}

#[test]
fn a_claim_that_was_not_named_is_not_extended_by_the_renewal_of_others() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let (named, later) = (hold(&mut held_claims, 1), hold(&mut held_claims, 1));
    let (old, new) = (later[0].expiry.time(), later[0].expiry.time().plus(SOON));
    let reply = Renewed {
        unreached: None,
        ..partial(&[])
    };

    answered(&mut held_claims, &[named[0].token], &reply, new);

    assert_eq!((named[0].expiry.time(), later[0].expiry.time()), (new, old));
}

#[test]
fn a_renewal_that_did_not_reach_all_may_have_released_nothing() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let attempts = hold(&mut held_claims, 1);
    held_claims.remove(&attempts, false);

    named(&mut held_claims);
    answered(&mut held_claims, &[], &partial(&[]), BootTime::now());
    assert!(held_claims.next_wakeup().is_some(), "one more is due");

    named(&mut held_claims);
    renewed(&mut held_claims);
    assert!(held_claims.next_wakeup().is_none());
}

#[test]
fn renewals_of_other_claims_go_on_while_handlers_of_expired_ones_stop() {
    let mut held_claims = HeldClaims::new(BootId::generate());
    let (far, near) = (hold(&mut held_claims, 1), hold(&mut held_claims, 1));
    let (expiry, tokens) = (far[0].expiry.time(), [near[0].token]);
    near[0].expiry.extend_to(BootTime::NEVER);
    held_claims.take_expired(BootTime::now(), SOON);

    assert_eq!(
        named(&mut held_claims),
        2,
        "the store must not release it yet"
    );
    renewed(&mut held_claims);

    let due = held_claims.due_renewals(expiry.plus(SOON), SOON);
    let expected =
        |due: &Renewal| matches!(due, Renewal::Worker { tokens: named, .. } if *named == tokens);
    assert!(due.len() == 1 && due.iter().all(expected), "{due:?}");
    renewed(&mut held_claims);
    assert!(held_claims.by_boot[0].orphans.is_none(), "it is released");
}
