//! Claim: each job is claimed once, and a claim can be repeated if its reply was lost.

use windlass_core::limits::{CLAIM_BYTES_MAX, CLAIM_MAX, LEASE_DEFAULT};
use windlass_core::{
    Claim, ClaimRequest, Due, ErrorKind, JobState, Mode, NewJob, OutcomeStatus, Priority, Result,
};

use crate::fixture::{
    Fixture, boot, duplicate_of, id, ids, lease_of, leases_of, ms, named, numbered, queue, secs,
};

fn handed_out(claim: Option<&Claim>) -> Vec<&str> {
    claim.map_or_else(Vec::new, ids)
}

pub async fn a_claimed_job_is_not_handed_out_twice(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;

    assert_eq!(fixture.next(1).await?, ["a"]);
    assert_eq!(fixture.claim(1).await?, None);
    assert_eq!(fixture.claim_as(&boot("worker"), 1, 1).await?, None);
    Ok(())
}

pub async fn a_claim_shows_the_job_running(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.advance(secs(3));
    let worker = boot("worker");

    let claim = fixture.take_as(&worker, 1, 1).await?;

    assert_eq!(claim.until, fixture.now().plus(LEASE_DEFAULT));
    assert_eq!((claim.jobs[0].attempt, claim.jobs[0].expiries), (1, 0));
    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.token),
        (JobState::Running, Some(claim.token))
    );
    assert_eq!(job.worker, Some(worker));
    assert_eq!(
        (job.started_at, job.accepted_at),
        (Some(fixture.now()), Some(fixture.now()))
    );
    Ok(())
}

pub async fn a_claim_hands_out_no_more_than_asked(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;

    assert_eq!(fixture.next(2).await?, ["a", "b"]);
    Ok(())
}

/// A job with a payload of this many KiB.
fn heavy(name: &str, kib: usize) -> NewJob {
    NewJob::new(vec![b'x'; kib * 1024]).id(id(name))
}

pub async fn a_claim_hands_out_four_mebibytes_at_most(fixture: &Fixture) -> Result<()> {
    for n in 0..10 {
        fixture.enqueue(heavy(&n.to_string(), 1024)).await?;
    }

    let first = fixture.take(100).await?;
    assert_eq!(ids(&first), ["0", "1", "2", "3"]);
    let bytes: usize = first.jobs.iter().map(|job| job.payload.len()).sum();
    assert_eq!(bytes, CLAIM_BYTES_MAX);
    assert_eq!(fixture.take(2).await?.jobs.len(), 2, "fewer by `max`");
    let request = ClaimRequest::single(100).mode(Mode::AtMostOnce);
    let once = fixture.store.claim(&fixture.queue, request).await?;
    assert_eq!(handed_out(once.as_ref()), ["6", "7", "8", "9"]);
    assert_eq!(fixture.claim(100).await?, None);
    Ok(())
}

pub async fn a_claim_ends_before_the_job_that_is_too_large_for_it(fixture: &Fixture) -> Result<()> {
    let urgent = Priority::new(2)?;
    for n in 0..4 {
        let job = heavy(&format!("large {n}"), 1023).priority(urgent);
        fixture.enqueue(job).await?;
    }
    fixture.enqueue_all(numbered(3)).await?;
    fixture.enqueue(heavy("first", 5).priority(urgent)).await?;
    fixture
        .enqueue_all(vec![named("late").expires(Due::After(ms(1)))])
        .await?;
    fixture.enqueue(heavy("second", 1)).await?;
    fixture.enqueue(named("last")).await?;

    let larges = ["large 0", "large 1", "large 2", "large 3"];
    assert_eq!(
        fixture.next(100).await?,
        larges,
        "5 KiB more would be too much"
    );
    fixture.advance(ms(1));
    let rest = ["first", "j000", "j001", "j002", "second", "last"];
    assert_eq!(fixture.next(100).await?, rest);
    Ok(())
}

pub async fn small_jobs_behind_large_ones_fill_a_claim(fixture: &Fixture) -> Result<()> {
    for n in 0..8 {
        fixture.enqueue(heavy(&n.to_string(), 1024)).await?;
    }
    for _ in 0..2 {
        let claim = fixture.take(4).await?;
        fixture.complete(&claim).await?;
    }
    let front: Vec<_> = numbered(30)
        .into_iter()
        .map(|job| job.priority(Priority::new(1).expect("valid")))
        .collect();
    fixture.enqueue_all(front).await?;
    fixture.enqueue(heavy("large", 1024)).await?;
    fixture.enqueue_all(vec![named("a"), named("b")]).await?;

    let claim = fixture.take(100).await?;
    assert_eq!(claim.jobs.len(), 33, "running jobs do not count");
    assert_eq!(ids(&claim)[30..], ["large", "a", "b"]);
    Ok(())
}

pub async fn a_claim_hands_out_a_hundred_jobs_at_most(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_all(numbered(CLAIM_MAX + 20)).await?;

    assert_eq!(fixture.take(5000).await?.jobs.len(), CLAIM_MAX);
    assert_eq!(fixture.take(5000).await?.jobs.len(), 20);
    Ok(())
}

pub async fn a_claim_takes_from_one_queue(fixture: &Fixture) -> Result<()> {
    let other = queue(&format!("{}.other", fixture.queue));
    fixture.store.enqueue(&other, vec![named("a")]).await?;

    assert_eq!(fixture.claim(1).await?, None);
    Ok(())
}

pub async fn a_repeated_claim_is_the_same_claim(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 2).await?;

    let again = fixture.take_as(&worker, 1, 2).await?;

    assert_eq!(again, first);
    assert_eq!(fixture.ready().await?, ["c"]);
    Ok(())
}

pub async fn a_repeated_claim_returns_what_is_still_held(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 2).await?;
    fixture.complete(&first).await?;

    let again = fixture.take_as(&worker, 1, 2).await?;
    assert_eq!((again.token, ids(&again)), (first.token, vec!["b"]));

    fixture.complete(lease_of(&first, 1)).await?;
    let again = fixture.claim_as(&worker, 1, 2).await?;
    assert!(handed_out(again.as_ref()).is_empty());
    assert_eq!(fixture.ready().await?, ["c"]);
    Ok(())
}

pub async fn a_claim_past_its_lease_may_be_repeated_until_it_is_reaped(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 1).await?;
    fixture.advance(LEASE_DEFAULT + secs(5));

    let again = fixture.take_as(&worker, 1, 1).await?;

    assert_eq!((again.token, ids(&again)), (first.token, vec!["a"]));
    assert_eq!(fixture.job("a").await?.expiries, 0);
    Ok(())
}

pub async fn a_claim_with_a_lower_number_gets_nothing(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 7, 1).await?;
    let before = fixture.snapshot().await?;

    let late = fixture.claim_as(&worker, 6, 1).await?;

    assert!(handed_out(late.as_ref()).is_empty());
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn claims_of_two_boots_are_apart(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;

    let first = fixture.take_as(&boot("one"), 1, 1).await?;
    let second = fixture.take_as(&boot("two"), 1, 1).await?;

    assert_eq!((ids(&first), ids(&second)), (vec!["a"], vec!["b"]));
    assert_ne!(first.token, second.token);
    Ok(())
}

pub async fn an_empty_claim_writes_nothing(fixture: &Fixture) -> Result<()> {
    assert_eq!(fixture.claim_as(&boot("worker"), 1, 5).await?, None);
    assert_eq!(fixture.dump().await?, None);

    fixture.fill(&["running"]).await?;
    fixture.enqueue(named("later").delay(secs(60))).await?;
    fixture.take(1).await?;
    let before = fixture.snapshot().await?;
    assert_eq!(fixture.claim(5).await?, None);
    assert_eq!(fixture.claim_as(&boot("worker"), 1, 5).await?, None);
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn an_empty_claim_does_not_use_up_its_number(fixture: &Fixture) -> Result<()> {
    let worker = boot("worker");
    assert_eq!(fixture.claim_as(&worker, 1, 1).await?, None);
    fixture.fill(&["a"]).await?;

    assert_eq!(ids(&fixture.take_as(&worker, 1, 1).await?), ["a"]);
    Ok(())
}

pub async fn tokens_grow_while_the_clock_stands(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;

    let first = fixture.take(1).await?.token;
    let second = fixture.take(1).await?.token;
    fixture.advance(ms(1));
    let third = fixture.take(1).await?.token;

    assert!(first.number < second.number && second.number < third.number);
    Ok(())
}

pub async fn the_claimers_nonce_is_in_the_token(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let request = ClaimRequest::single(1);
    let nonce = request.nonce;

    let claim = fixture.store.claim(&fixture.queue, request).await?;

    assert_eq!(claim.map(|claim| claim.token.nonce), Some(nonce));
    Ok(())
}

pub async fn a_paused_queue_hands_out_nothing_and_does_all_else(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let held = fixture.take(1).await?;
    fixture.store.set_paused(&fixture.queue, true).await?;

    assert_eq!(fixture.claim(1).await?, None);
    assert_eq!(fixture.renew(held.token).await?.until, Some(held.until));
    assert_eq!(fixture.complete(&held).await?, OutcomeStatus::Completed);
    fixture.fill(&["c"]).await?;
    assert_eq!(fixture.claim(1).await?, None);

    fixture.store.set_paused(&fixture.queue, false).await?;
    assert_eq!(fixture.next(10).await?, ["b", "c"]);
    Ok(())
}

pub async fn a_paused_queue_answers_the_repeat_of_a_claim(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 1).await?;
    fixture.store.set_paused(&fixture.queue, true).await?;

    assert_eq!(fixture.claim_as(&worker, 1, 1).await?, Some(first));
    Ok(())
}

pub async fn a_claim_moves_the_queue_with_no_maintenance(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["held"]).await?;
    fixture.take(1).await?;
    fixture.enqueue(named("due").delay(secs(10))).await?;
    fixture.outlast_lease();

    assert_eq!(fixture.next(10).await?, ["held", "due"]);
    Ok(())
}

pub async fn jobs_claimed_at_most_once_have_ended_when_handed_out(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let request = ClaimRequest::worker(boot("worker"), 1, 10).mode(Mode::AtMostOnce);

    let claim = fixture.store.claim(&fixture.queue, request).await?;

    assert_eq!(handed_out(claim.as_ref()), ["a", "b"]);
    let dump = fixture.snapshot().await?;
    assert!(dump.jobs.is_empty());
    assert_eq!((dump.stats.running, dump.stats.total.succeeded), (0, 2));
    let again = fixture.enqueue(named("a")).await?;
    assert_eq!(duplicate_of(&again), Some((id("a"), JobState::Succeeded)));

    fixture.outlast_lease();
    assert_eq!(fixture.claim(10).await?, None);
    Ok(())
}

pub async fn a_lost_reply_loses_jobs_claimed_at_most_once(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let request = ClaimRequest::worker(boot("worker"), 1, 1).mode(Mode::AtMostOnce);
    fixture.store.claim(&fixture.queue, request.clone()).await?;

    let again = fixture.store.claim(&fixture.queue, request).await?;

    assert!(handed_out(again.as_ref()).is_empty());
    Ok(())
}

pub async fn a_repeated_claim_at_most_once_ends_no_further_job(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let request = ClaimRequest::worker(boot("worker"), 1, 1).mode(Mode::AtMostOnce);
    fixture.store.claim(&fixture.queue, request.clone()).await?;

    let again = fixture.store.claim(&fixture.queue, request).await?;

    assert!(handed_out(again.as_ref()).is_empty());
    assert_eq!(fixture.ready().await?, ["b"]);
    Ok(())
}

pub async fn completing_may_claim_the_next_in_the_same_transaction(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 1).await?;
    let next = ClaimRequest::worker(worker.clone(), 2, 1);
    let completions = vec![lease_of(&first, 0).completion()];

    let reply = fixture
        .store
        .complete(&fixture.queue, completions.clone(), Some(next.clone()))
        .await?;
    assert_eq!(reply.statuses, [OutcomeStatus::Completed]);
    assert_eq!(handed_out(reply.next.as_ref()), ["b"]);

    let again = fixture
        .store
        .complete(&fixture.queue, completions, Some(next))
        .await?;
    assert_eq!(again, reply);
    assert_eq!(fixture.ready().await?, ["c"]);
    Ok(())
}

pub async fn an_invalid_claim_is_rejected(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let before = fixture.snapshot().await?;

    for request in [
        ClaimRequest::single(0),
        ClaimRequest::single(2).mode(Mode::Dispatch),
        ClaimRequest::worker(boot("worker"), 1, 1).mode(Mode::Dispatch),
    ] {
        let refused = fixture.store.claim(&fixture.queue, request).await;
        assert_eq!(
            refused.map_err(|error| error.kind()),
            Err(ErrorKind::Invalid)
        );
    }

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn concurrent_claims_hand_out_each_job_once(fixture: &Fixture) -> Result<()> {
    let jobs: Vec<_> = (0..60).map(|n| NewJob::new(format!("{n}"))).collect();
    fixture.enqueue_all(jobs).await?;
    let workers = ["one", "two", "three", "four"].map(boot);

    let rounds = workers.iter().map(|worker| async move {
        let mut count = 0;
        for seq in 1..=20 {
            if let Some(claim) = fixture.claim_as(worker, seq, 3).await? {
                let completed = fixture.complete_all(leases_of(&claim)).await?;
                assert!(
                    completed
                        .statuses
                        .iter()
                        .all(|status| *status == OutcomeStatus::Completed)
                );
                count += claim.jobs.len();
            }
        }
        Ok::<_, windlass_core::Error>(count)
    });
    let [one, two, three, four]: [_; 4] = rounds.collect::<Vec<_>>().try_into().ok().expect("four");
    let (one, two, three, four) = tokio::try_join!(one, two, three, four)?;

    assert_eq!(one + two + three + four, 60);
    assert!(fixture.snapshot().await?.jobs.is_empty());
    Ok(())
}
