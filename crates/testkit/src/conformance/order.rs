//! Order: who is next, and where those stand who come back.

use windlass_core::{ClaimRequest, JobState, Priority, Result};

use crate::bench::{Bench, almost, boot, hold, holds, ids, ms, named, numbered, secs};

pub async fn jobs_of_one_priority_run_in_the_order_they_came(bench: &Bench) -> Result<()> {
    bench.fill(&["c", "a"]).await?;
    bench.fill(&["b"]).await?;

    assert_eq!(bench.next(2).await?, ["c", "a"]);
    assert_eq!(bench.next(2).await?, ["b"]);
    Ok(())
}

pub async fn priority_comes_before_age(bench: &Bench) -> Result<()> {
    for (name, level) in [("last", 9), ("middle", 5), ("soon", 1), ("first", 0)] {
        bench
            .enqueue(named(name).priority(Priority::new(level)?))
            .await?;
        bench.advance(secs(1));
    }

    assert_eq!(bench.next(3).await?, ["first", "soon", "middle"]);
    assert_eq!(bench.next(3).await?, ["last"]);
    Ok(())
}

pub async fn a_job_is_never_early(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").delay(secs(5))).await?;

    bench.advance(almost(secs(5)));
    assert_eq!(bench.claim(1).await?, None);
    assert_eq!(bench.state("a").await?, Some(JobState::Scheduled));

    bench.advance(ms(1));
    assert_eq!(bench.next(1).await?, ["a"]);
    Ok(())
}

pub async fn due_jobs_are_promoted_by_due_time_then_id(bench: &Bench) -> Result<()> {
    for (name, delay) in [("z", 1), ("b", 2), ("c", 2), ("a", 2), ("y", 3)] {
        bench.enqueue(named(name).delay(secs(delay))).await?;
    }
    bench.advance(secs(2));

    assert_eq!(bench.next(10).await?, ["z", "a", "b", "c"]);
    Ok(())
}

pub async fn ids_are_compared_by_their_bytes(bench: &Bench) -> Result<()> {
    for name in ["a", "é", "Z", "10", "9"] {
        bench.enqueue(named(name).delay(secs(1))).await?;
    }
    bench.advance(secs(1));

    assert_eq!(bench.next(10).await?, ["10", "9", "Z", "a", "é"]);
    Ok(())
}

pub async fn a_promoted_job_stands_at_the_back_of_its_priority(bench: &Bench) -> Result<()> {
    bench.enqueue(named("due").delay(secs(1))).await?;
    bench
        .enqueue(named("urgent").delay(secs(1)).priority(Priority::new(0)?))
        .await?;
    bench.fill(&["a"]).await?;
    bench.advance(secs(1));

    assert_eq!(bench.next(10).await?, ["urgent", "a", "due"]);
    Ok(())
}

pub async fn released_jobs_return_to_the_front_in_claim_order(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c", "d"]).await?;
    let claim = bench.take(3).await?;
    let mut all = holds(&claim);
    all.rotate_left(1);

    bench.store.release(&bench.queue, all).await?;

    assert_eq!(bench.next(10).await?, ["a", "b", "c", "d"]);
    Ok(())
}

pub async fn reaped_jobs_return_to_the_front_in_claim_order(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c", "d"]).await?;
    let worker = boot("worker");
    bench.take_as(&worker, 1, 2).await?;
    bench.take_as(&worker, 2, 1).await?;

    bench.outlast_lease();

    assert_eq!(bench.next(10).await?, ["a", "b", "c", "d"]);
    Ok(())
}

pub async fn a_job_returns_to_the_front_of_its_own_priority(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("low").priority(Priority::new(9)?))
        .await?;
    bench.take(1).await?;
    bench.fill(&["a"]).await?;
    bench
        .enqueue(named("low 2").priority(Priority::new(9)?))
        .await?;

    bench.outlast_lease();

    assert_eq!(bench.next(10).await?, ["a", "low", "low 2"]);
    Ok(())
}

pub async fn a_later_reap_stands_ahead_of_an_earlier_one(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    bench.take(1).await?;
    bench.advance(secs(1));
    bench.take(1).await?;

    bench.advance(secs(29));
    assert_eq!(bench.maintain().await?.reaped, 1);
    bench.advance(secs(1));
    assert_eq!(bench.maintain().await?.reaped, 1);

    assert_eq!(bench.next(10).await?, ["b", "a", "c"]);
    Ok(())
}

pub async fn leases_are_reaped_in_the_order_they_ended(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    let long = ClaimRequest::single(1).lease(secs(20));
    let short = ClaimRequest::single(1).lease(secs(10));
    bench.store.claim(&bench.queue, long).await?;
    bench.store.claim(&bench.queue, short).await?;

    // b's lease ended first, so a was taken back after it and stands ahead.
    bench.advance(secs(20));

    assert_eq!(bench.next(10).await?, ["a", "b", "c"]);
    Ok(())
}

pub async fn a_queue_may_put_returned_jobs_at_the_back(bench: &Bench) -> Result<()> {
    bench.set("requeue=back").await?;
    bench.fill(&["a", "b", "c", "d"]).await?;
    let claim = bench.take(2).await?;
    bench.store.release(&bench.queue, holds(&claim)).await?;
    assert_eq!(bench.ready().await?, ["c", "d", "a", "b"]);

    bench.take_as(&boot("worker"), 1, 2).await?;
    bench.outlast_lease();
    bench.maintain().await?;

    assert_eq!(bench.ready().await?, ["a", "b", "c", "d"]);
    Ok(())
}

pub async fn claims_lost_on_the_way_keep_their_order_at_the_back(bench: &Bench) -> Result<()> {
    bench.set("requeue=back").await?;
    bench.fill(&["a", "b", "c", "d", "e"]).await?;
    let worker = boot("worker");
    bench.take_as(&worker, 1, 2).await?;
    bench.take_as(&worker, 2, 2).await?;

    bench.renew_as(&worker, &[], 2).await?;

    assert_eq!(bench.ready().await?, ["e", "a", "b", "c", "d"]);
    Ok(())
}

pub async fn a_retried_job_stands_at_the_back(bench: &Bench) -> Result<()> {
    bench.kill(named("a")).await?;
    bench.fill(&["b"]).await?;

    bench.retry("a").await?;

    assert_eq!(bench.ready().await?, ["b", "a"]);
    Ok(())
}

pub async fn a_job_promoted_by_hand_stands_at_the_back(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").delay(secs(60))).await?;
    bench.fill(&["b"]).await?;

    bench.promote("a").await?;

    assert_eq!(bench.next(10).await?, ["b", "a"]);
    Ok(())
}

pub async fn a_job_cancelled_and_enqueued_again_has_only_its_new_place(
    bench: &Bench,
) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    bench.cancel("a").await?;
    bench.delete("a").await?;
    bench.fill(&["a"]).await?;

    assert_eq!(bench.next(10).await?, ["b", "a"]);
    assert_eq!(bench.claim(10).await?, None);
    Ok(())
}

pub async fn a_thousand_jobs_run_in_the_order_they_came(bench: &Bench) -> Result<()> {
    let jobs = numbered(1000);
    let expected: Vec<_> = jobs.iter().map(|job| job.id.to_string()).collect();
    bench.enqueue_all(jobs).await?;
    let worker = boot("worker");
    let mut order = Vec::new();

    for seq in 1..=10 {
        let claim = bench.take_as(&worker, seq, 100).await?;
        order.extend(ids(&claim).into_iter().map(str::to_owned));
        // Settling in another order than handed out changes nothing for those that wait.
        bench.complete(hold(&claim, 99)).await?;
        bench.complete_all(holds(&claim)[..99].to_vec()).await?;
    }

    assert_eq!(order, expected);
    Ok(())
}
