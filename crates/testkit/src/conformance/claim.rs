//! Claim: how jobs are handed out, once, and how a lost reply is asked for again.

use windlass_core::limits::{CLAIM_MAX, LEASE_DEFAULT, LEASE_MAX};
use windlass_core::{Claim, ClaimRequest, ErrorKind, JobState, Mode, NewJob, Result, Settled};

use crate::bench::{
    Bench, boot, duplicate_of, hold, holds, id, ids, ms, named, numbered, queue, secs,
};

fn handed_out(claim: Option<&Claim>) -> Vec<&str> {
    claim.map_or_else(Vec::new, ids)
}

pub async fn a_claimed_job_is_not_handed_out_twice(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;

    assert_eq!(bench.next(1).await?, ["a"]);
    assert_eq!(bench.claim(1).await?, None);
    assert_eq!(bench.claim_as(&boot("worker"), 1, 1).await?, None);
    Ok(())
}

pub async fn a_claim_shows_the_job_running(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.advance(secs(3));
    let worker = boot("worker");

    let claim = bench.take_as(&worker, 1, 1).await?;

    assert_eq!(claim.until, bench.now().plus(LEASE_DEFAULT));
    assert_eq!((claim.jobs[0].attempt, claim.jobs[0].expiries), (1, 0));
    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.token),
        (JobState::Running, Some(claim.token))
    );
    assert_eq!(job.worker, Some(worker));
    assert_eq!(
        (job.started_at, job.accepted_at),
        (Some(bench.now()), Some(bench.now()))
    );
    Ok(())
}

pub async fn a_claim_hands_out_no_more_than_asked(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;

    assert_eq!(bench.next(2).await?, ["a", "b"]);
    Ok(())
}

pub async fn a_claim_hands_out_a_hundred_jobs_at_most(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(CLAIM_MAX + 20)).await?;

    assert_eq!(bench.take(5000).await?.jobs.len(), CLAIM_MAX);
    assert_eq!(bench.take(5000).await?.jobs.len(), 20);
    Ok(())
}

pub async fn a_claim_takes_from_one_queue(bench: &Bench) -> Result<()> {
    let other = queue(&format!("{}.other", bench.queue));
    bench.store.enqueue(&other, vec![named("a")]).await?;

    assert_eq!(bench.claim(1).await?, None);
    Ok(())
}

pub async fn a_repeated_claim_is_the_same_claim(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 2).await?;

    let again = bench.take_as(&worker, 1, 2).await?;

    assert_eq!(again, first);
    assert_eq!(bench.ready().await?, ["c"]);
    Ok(())
}

pub async fn a_repeated_claim_returns_what_is_still_held(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 2).await?;
    bench.complete(hold(&first, 0)).await?;

    let again = bench.take_as(&worker, 1, 2).await?;
    assert_eq!((again.token, ids(&again)), (first.token, vec!["b"]));

    bench.complete(hold(&first, 1)).await?;
    let again = bench.claim_as(&worker, 1, 2).await?;
    assert!(handed_out(again.as_ref()).is_empty());
    assert_eq!(bench.ready().await?, ["c"]);
    Ok(())
}

pub async fn a_claim_past_its_lease_may_be_repeated_until_it_is_reaped(
    bench: &Bench,
) -> Result<()> {
    bench.fill(&["a"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 1).await?;
    bench.advance(LEASE_DEFAULT + secs(5));

    let again = bench.take_as(&worker, 1, 1).await?;

    assert_eq!((again.token, ids(&again)), (first.token, vec!["a"]));
    assert_eq!(bench.job("a").await?.expiries, 0);
    Ok(())
}

pub async fn a_claim_with_a_lower_number_gets_nothing(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    bench.take_as(&worker, 7, 1).await?;
    let before = bench.whole().await?;

    let late = bench.claim_as(&worker, 6, 1).await?;

    assert!(handed_out(late.as_ref()).is_empty());
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn claims_of_two_boots_are_apart(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;

    let first = bench.take_as(&boot("one"), 1, 1).await?;
    let second = bench.take_as(&boot("two"), 1, 1).await?;

    assert_eq!((ids(&first), ids(&second)), (vec!["a"], vec!["b"]));
    assert_ne!(first.token, second.token);
    Ok(())
}

pub async fn an_empty_claim_writes_nothing(bench: &Bench) -> Result<()> {
    assert_eq!(bench.claim_as(&boot("worker"), 1, 5).await?, None);
    assert_eq!(bench.dump().await?, None);

    bench.fill(&["running"]).await?;
    bench.enqueue(named("later").delay(secs(60))).await?;
    bench.take(1).await?;
    let before = bench.whole().await?;
    assert_eq!(bench.claim(5).await?, None);
    assert_eq!(bench.claim_as(&boot("worker"), 1, 5).await?, None);
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn an_empty_claim_does_not_use_up_its_number(bench: &Bench) -> Result<()> {
    let worker = boot("worker");
    assert_eq!(bench.claim_as(&worker, 1, 1).await?, None);
    bench.fill(&["a"]).await?;

    assert_eq!(ids(&bench.take_as(&worker, 1, 1).await?), ["a"]);
    Ok(())
}

pub async fn tokens_grow_while_the_clock_stands(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;

    let first = bench.take(1).await?.token;
    let second = bench.take(1).await?.token;
    bench.advance(ms(1));
    let third = bench.take(1).await?.token;

    assert!(first.number < second.number && second.number < third.number);
    Ok(())
}

pub async fn the_claimers_nonce_is_in_the_token(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let request = ClaimRequest::single(1);
    let nonce = request.nonce;

    let claim = bench.store.claim(&bench.queue, request).await?;

    assert_eq!(claim.map(|claim| claim.token.nonce), Some(nonce));
    Ok(())
}

pub async fn a_paused_queue_hands_out_nothing_and_does_all_else(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let held = bench.take(1).await?;
    bench.store.pause(&bench.queue).await?;

    assert_eq!(bench.claim(1).await?, None);
    assert_eq!(bench.renew(held.token).await?.until, Some(held.until));
    assert_eq!(bench.complete(hold(&held, 0)).await?, Settled::Completed);
    bench.fill(&["c"]).await?;
    assert_eq!(bench.claim(1).await?, None);

    bench.store.resume(&bench.queue).await?;
    assert_eq!(bench.next(10).await?, ["b", "c"]);
    Ok(())
}

pub async fn a_paused_queue_answers_the_repeat_of_a_claim(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 1).await?;
    bench.store.pause(&bench.queue).await?;

    assert_eq!(bench.claim_as(&worker, 1, 1).await?, Some(first));
    Ok(())
}

pub async fn a_claim_moves_the_queue_with_no_maintenance(bench: &Bench) -> Result<()> {
    bench.fill(&["held"]).await?;
    bench.take(1).await?;
    bench.enqueue(named("due").delay(secs(10))).await?;
    bench.outlast_lease();

    assert_eq!(bench.next(10).await?, ["held", "due"]);
    Ok(())
}

pub async fn jobs_claimed_at_most_once_have_ended_when_handed_out(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let request = ClaimRequest::worker(boot("worker"), 1, 10).mode(Mode::AtMostOnce);

    let claim = bench.store.claim(&bench.queue, request).await?;

    assert_eq!(handed_out(claim.as_ref()), ["a", "b"]);
    let dump = bench.whole().await?;
    assert!(dump.jobs.is_empty());
    assert_eq!((dump.stats.running, dump.stats.total.succeeded), (0, 2));
    let again = bench.enqueue(named("a")).await?;
    assert_eq!(duplicate_of(&again), Some((id("a"), JobState::Succeeded)));

    bench.outlast_lease();
    assert_eq!(bench.claim(10).await?, None);
    Ok(())
}

pub async fn a_lost_reply_loses_jobs_claimed_at_most_once(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let request = ClaimRequest::worker(boot("worker"), 1, 1).mode(Mode::AtMostOnce);
    bench.store.claim(&bench.queue, request.clone()).await?;

    let again = bench.store.claim(&bench.queue, request).await?;

    assert!(handed_out(again.as_ref()).is_empty());
    Ok(())
}

pub async fn a_repeated_claim_at_most_once_ends_no_further_job(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let request = ClaimRequest::worker(boot("worker"), 1, 1).mode(Mode::AtMostOnce);
    bench.store.claim(&bench.queue, request.clone()).await?;

    let again = bench.store.claim(&bench.queue, request).await?;

    assert!(handed_out(again.as_ref()).is_empty());
    assert_eq!(bench.ready().await?, ["b"]);
    Ok(())
}

pub async fn completing_may_claim_the_next_in_the_same_step(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 1).await?;
    let next = ClaimRequest::worker(worker.clone(), 2, 1);
    let completions = vec![hold(&first, 0).completion()];

    let answer = bench
        .store
        .complete(&bench.queue, completions.clone(), Some(next.clone()))
        .await?;
    assert_eq!(answer.settled, [Settled::Completed]);
    assert_eq!(handed_out(answer.next.as_ref()), ["b"]);

    let again = bench
        .store
        .complete(&bench.queue, completions, Some(next))
        .await?;
    assert_eq!(again, answer);
    assert_eq!(bench.ready().await?, ["c"]);
    Ok(())
}

pub async fn a_claim_that_asks_for_nonsense_is_refused(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let before = bench.whole().await?;

    for request in [
        ClaimRequest::single(0),
        ClaimRequest::single(1).lease(secs(0)),
        ClaimRequest::single(1).lease(LEASE_MAX + ms(1)),
        ClaimRequest::single(2).mode(Mode::Dispatch),
        ClaimRequest::worker(boot("worker"), 1, 1).mode(Mode::Dispatch),
    ] {
        let refused = bench.store.claim(&bench.queue, request).await;
        assert_eq!(
            refused.map_err(|error| error.kind()),
            Err(ErrorKind::Invalid)
        );
    }

    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn concurrent_claims_hand_out_each_job_once(bench: &Bench) -> Result<()> {
    let jobs: Vec<_> = (0..60).map(|n| NewJob::new(format!("{n}"))).collect();
    bench.enqueue_all(jobs).await?;
    let workers = ["one", "two", "three", "four"].map(boot);

    let rounds = workers.iter().map(|worker| async move {
        let mut count = 0;
        for seq in 1..=20 {
            if let Some(claim) = bench.claim_as(worker, seq, 3).await? {
                let completed = bench.complete_all(holds(&claim)).await?;
                assert!(
                    completed
                        .settled
                        .iter()
                        .all(|settled| *settled == Settled::Completed)
                );
                count += claim.jobs.len();
            }
        }
        Ok::<_, windlass_core::Error>(count)
    });
    let [one, two, three, four]: [_; 4] = rounds.collect::<Vec<_>>().try_into().ok().expect("four");
    let (one, two, three, four) = tokio::try_join!(one, two, three, four)?;

    assert_eq!(one + two + three + four, 60);
    assert!(bench.whole().await?.jobs.is_empty());
    Ok(())
}
