//! Leases: how long jobs are held, and by whom.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{
    ClaimRequest, Due, ErrorKind, Held, JobState, Renewal, Renewed, Result, Retry, Settled,
};

use crate::bench::{Bench, almost, boot, hold, id, ids, ms, secs};

pub async fn a_lease_ends_at_its_end(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.take(1).await?;

    bench.advance(almost(LEASE_DEFAULT));
    assert_eq!(bench.maintain().await?.reaped, 0);

    bench.advance(ms(1));
    assert_eq!(bench.maintain().await?.reaped, 1);
    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 1)
    );
    assert_eq!((job.worker, job.token), (None, None));
    Ok(())
}

pub async fn the_token_decides_and_not_the_clock(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c", "d", "e"]).await?;
    let claim = bench.take(5).await?;
    bench.advance(LEASE_DEFAULT + secs(60));

    let progress = bench
        .store
        .progress(&bench.queue, hold(&claim, 0), 0.5, None)
        .await?;
    assert_eq!(progress, Held::Yes);
    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Completed);
    let failed = bench
        .fail(hold(&claim, 1), Retry::At(Due::After(secs(9))))
        .await?;
    assert_eq!(failed, Settled::Scheduled);
    assert_eq!(bench.release(hold(&claim, 2)).await?, Settled::Released);
    assert_eq!(
        bench.snooze(hold(&claim, 3), Due::After(secs(9))).await?,
        Settled::Snoozed
    );
    let renewed = bench.renew(claim.token).await?;
    assert_eq!(renewed.until, Some(bench.now().plus(LEASE_DEFAULT)));
    Ok(())
}

pub async fn a_lease_past_its_end_is_renewed_whole(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = bench.take(2).await?;
    bench.advance(LEASE_DEFAULT + secs(1));

    bench.renew(claim.token).await?;
    bench.advance(almost(LEASE_DEFAULT));

    assert_eq!(bench.maintain().await?.reaped, 0);
    assert_eq!(bench.complete(hold(&claim, 1)).await?, Settled::Completed);
    Ok(())
}

pub async fn a_renewed_lease_is_kept(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    for _ in 0..3 {
        bench.advance(secs(20));
        let renewed = bench.renew(claim.token).await?;
        let until = Some(bench.now().plus(LEASE_DEFAULT));
        assert_eq!(
            renewed,
            Renewed {
                until,
                lost: vec![],
                cancel: vec![]
            }
        );
        assert!(bench.maintain().await?.is_idle());
    }

    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Completed);
    Ok(())
}

pub async fn a_renewal_never_shortens_a_lease(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    let renewal = Renewal::Single { token: claim.token };
    let renewed = bench.store.renew(&bench.queue, renewal, secs(1)).await?;

    assert_eq!(renewed.until, Some(claim.until));
    Ok(())
}

pub async fn one_renewal_keeps_all_claims_of_a_worker(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 1).await?;
    let second = bench.take_as(&worker, 2, 1).await?;

    bench.advance(secs(20));
    let renewed = bench
        .renew_as(&worker, &[first.token, second.token], 2)
        .await?;
    assert_eq!(renewed.until, Some(bench.now().plus(LEASE_DEFAULT)));

    bench.advance(secs(20));
    assert!(bench.maintain().await?.is_idle());
    Ok(())
}

pub async fn a_single_claim_has_a_lease_of_its_own(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let kept = bench.take(1).await?;
    bench.take(1).await?;

    bench.advance(secs(20));
    bench.renew(kept.token).await?;
    bench.advance(secs(10));

    assert_eq!(bench.maintain().await?.reaped, 1);
    assert_eq!(bench.ready().await?, ["b"]);
    Ok(())
}

pub async fn renewing_a_claim_just_completed_holds_nothing_and_loses_nothing(
    bench: &Bench,
) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    bench.complete(hold(&claim, 0)).await?;

    let renewed = bench.renew(claim.token).await?;

    assert_eq!(renewed, Renewed::default());
    Ok(())
}

pub async fn a_new_claim_never_shortens_a_workers_lease(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 1).await?;
    let short = ClaimRequest::worker(worker, 2, 1).lease(secs(1));

    let second = bench.store.claim(&bench.queue, short).await?;

    assert_eq!(second.map(|claim| claim.until), Some(first.until));
    bench.advance(secs(2));
    assert!(bench.maintain().await?.is_idle());
    Ok(())
}

pub async fn a_worker_that_holds_nothing_keeps_its_lease(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let worker = boot("worker");
    let claim = bench.take_as(&worker, 1, 1).await?;
    bench.complete(hold(&claim, 0)).await?;
    bench.advance(secs(1));

    let renewed = bench.renew_as(&worker, &[], 1).await?;
    assert_eq!(renewed.until, Some(bench.now().plus(LEASE_DEFAULT)));

    bench.outlast_lease();
    bench.maintain().await?;
    assert_eq!(bench.renew_as(&worker, &[], 1).await?, Renewed::default());
    assert!(bench.whole().await?.leases.is_empty());
    Ok(())
}

pub async fn a_single_lease_ends_with_its_last_job(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = bench.take(2).await?;
    bench.complete(hold(&claim, 1)).await?;
    assert_eq!(bench.whole().await?.leases.len(), 1);

    bench.complete(hold(&claim, 0)).await?;

    assert!(bench.whole().await?.leases.is_empty());
    assert_eq!(bench.renew(claim.token).await?.until, None);
    Ok(())
}

pub async fn a_claim_whose_reply_was_lost_goes_back_to_the_front(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c", "d"]).await?;
    let worker = boot("worker");
    bench.take_as(&worker, 1, 2).await?;
    let known = bench.take_as(&worker, 2, 1).await?;

    let renewed = bench.renew_as(&worker, &[known.token], 2).await?;

    assert!(renewed.lost.is_empty() && renewed.until.is_some());
    assert_eq!(bench.ready().await?, ["a", "b", "d"]);
    let job = bench.job("a").await?;
    assert_eq!((job.attempt, job.expiries), (1, 0));
    assert_eq!(bench.complete(hold(&known, 0)).await?, Settled::Completed);
    Ok(())
}

pub async fn a_claim_still_on_its_way_is_kept_by_a_renewal(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 1).await?;
    let under_way = bench.take_as(&worker, 2, 1).await?;

    bench.renew_as(&worker, &[first.token], 1).await?;

    assert_eq!(
        bench.complete(hold(&under_way, 0)).await?,
        Settled::Completed
    );
    Ok(())
}

pub async fn a_token_that_holds_nothing_is_told_lost(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let lost = bench.take_as(&worker, 1, 1).await?;
    bench.outlast_lease();
    bench.maintain().await?;
    let held = bench.take_as(&worker, 2, 1).await?;

    let renewed = bench
        .renew_as(&worker, &[lost.token, held.token], 2)
        .await?;

    assert_eq!(
        (renewed.until, renewed.lost),
        (Some(held.until), vec![lost.token])
    );
    Ok(())
}

pub async fn a_finished_claim_is_not_called_lost_for_a_minute(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let worker = boot("worker");
    let claim = bench.take_as(&worker, 1, 1).await?;
    bench.complete(hold(&claim, 0)).await?;

    for wait in [0, 29, 29] {
        bench.advance(secs(wait));
        let renewed = bench.renew_as(&worker, &[claim.token], 1).await?;
        assert_eq!(renewed.lost, []);
    }
    bench.advance(secs(2));

    let renewed = bench.renew_as(&worker, &[claim.token], 1).await?;
    assert_eq!(renewed.lost, [claim.token]);
    Ok(())
}

pub async fn progress_is_shown_and_renews_nothing(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    bench.advance(secs(20));

    let message = Some("halfway".to_owned());
    let told = bench
        .store
        .progress(&bench.queue, hold(&claim, 0), 0.5, message.clone())
        .await?;

    assert_eq!(told, Held::Yes);
    let progress = bench
        .job("a")
        .await?
        .progress
        .expect("the job shows its progress");
    assert!((progress.fraction - 0.5).abs() < f64::EPSILON);
    assert_eq!((progress.message, progress.at), (message, bench.now()));
    bench.advance(secs(10));
    assert_eq!(bench.maintain().await?.reaped, 1);
    assert_eq!(bench.job("a").await?.progress, None);
    Ok(())
}

pub async fn progress_beyond_its_bounds_is_refused(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    for fraction in [-0.1, 1.1, f64::NAN] {
        let told = bench
            .store
            .progress(&bench.queue, hold(&claim, 0), fraction, None)
            .await;
        assert_eq!(
            told.map_err(|error| error.kind()),
            Err(ErrorKind::Invalid),
            "{fraction}"
        );
    }
    Ok(())
}

pub async fn a_lease_of_no_sensible_length_is_refused(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    for lease in [secs(0), secs(100 * 60 * 60)] {
        let renewal = Renewal::Single { token: claim.token };
        let told = bench.store.renew(&bench.queue, renewal, lease).await;
        assert_eq!(told.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
        let told = bench
            .store
            .accept(&bench.queue, hold(&claim, 0), lease)
            .await;
        assert_eq!(told.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
    }
    Ok(())
}

pub async fn a_reaped_boot_may_claim_again(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let worker = boot("worker");
    bench.take_as(&worker, 1, 1).await?;
    bench.outlast_lease();
    bench.maintain().await?;

    let again = bench.take_as(&worker, 2, 1).await?;

    assert_eq!(ids(&again), ["a"]);
    assert_eq!(again.jobs[0].id, id("a"));
    assert_eq!(again.jobs[0].expiries, 1);
    Ok(())
}
