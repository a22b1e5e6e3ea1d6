//! Workers: who is known, what they are told, and what becomes of their jobs when they go.

use windlass_core::{
    Beat, BootId, Claim, ClaimRequest, Claimer, ErrorKind, JobState, NewWorker, QueueName, Result,
    Settled, Told, Worker,
};

use crate::bench::{Bench, almost, boot, hold, id, ms, named, queue, secs};

fn worker(boot: &BootId, queues: &[&QueueName]) -> NewWorker {
    NewWorker {
        boot: boot.clone(),
        name: "mailer".to_owned(),
        host: "cellar".to_owned(),
        pid: 77,
        version: "0.1.0".to_owned(),
        queues: queues.iter().map(|queue| (*queue).clone()).collect(),
    }
}

fn idle(boot: &BootId) -> Beat {
    Beat {
        boot: boot.clone(),
        running: vec![],
    }
}

/// What the store knows of a worker.
async fn known(bench: &Bench, boot: &BootId) -> Result<Option<Worker>> {
    let workers = bench.store.workers().await?;
    Ok(workers.into_iter().find(|worker| worker.new.boot == *boot))
}

pub async fn a_registered_worker_is_known(bench: &Bench) -> Result<()> {
    let one = boot("one");
    let new = worker(&one, &[&bench.queue]);

    bench.store.register(new.clone()).await?;

    let now = bench.now();
    let expected = Worker {
        new,
        is_busy: false,
        running: vec![],
        told: Told::Continue,
        started_at: now,
        last_seen: now,
        is_silent: false,
    };
    assert_eq!(known(bench, &one).await?, Some(expected));
    Ok(())
}

pub async fn workers_are_listed_in_the_order_of_their_ids(bench: &Bench) -> Result<()> {
    for name in ["c", "a", "b"] {
        bench
            .store
            .register(worker(&boot(name), &[&bench.queue]))
            .await?;
    }

    let listed = bench.store.workers().await?;

    let boots: Vec<_> = listed
        .iter()
        .map(|worker| worker.new.boot.as_str())
        .collect();
    assert_eq!(boots, ["a", "b", "c"]);
    Ok(())
}

pub async fn a_beat_shows_what_a_worker_does(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;
    bench.advance(secs(10));
    let running = vec![(bench.queue.clone(), id("a"))];

    let told = bench
        .store
        .beat(Beat {
            boot: one.clone(),
            running: running.clone(),
        })
        .await?;

    assert_eq!(told, Told::Continue);
    let seen = known(bench, &one).await?.expect("it is known");
    assert!(seen.is_busy);
    assert_eq!((seen.running, seen.last_seen), (running, bench.now()));
    bench.store.beat(idle(&one)).await?;
    assert!(!known(bench, &one).await?.expect("it is known").is_busy);
    Ok(())
}

pub async fn a_worker_is_told_at_its_next_beat(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;

    for told in [Told::Quiet, Told::Stop] {
        assert!(bench.store.tell(&one, told).await?);
        assert_eq!(
            known(bench, &one).await?.map(|worker| worker.told),
            Some(told)
        );
        assert_eq!(bench.store.beat(idle(&one)).await?, told);
    }
    Ok(())
}

pub async fn an_unknown_worker_is_told_that_it_is_lost(bench: &Bench) -> Result<()> {
    let nobody = boot("nobody");

    assert_eq!(bench.store.beat(idle(&nobody)).await?, Told::Lost);
    assert!(!bench.store.tell(&nobody, Told::Stop).await?);
    assert_eq!(bench.store.fail_worker(&nobody).await?, None);
    assert_eq!(bench.store.leave(&nobody, None).await?, 0);
    assert!(bench.store.workers().await?.is_empty());
    Ok(())
}

pub async fn a_silent_worker_is_told_that_it_is_lost(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;

    bench.advance(almost(secs(60)));
    assert_eq!(
        known(bench, &one).await?.map(|worker| worker.is_silent),
        Some(false)
    );

    bench.advance(ms(1));
    assert_eq!(
        known(bench, &one).await?.map(|worker| worker.is_silent),
        Some(true)
    );
    assert_eq!(bench.store.beat(idle(&one)).await?, Told::Lost);
    Ok(())
}

pub async fn a_worker_silent_for_a_day_is_forgotten(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;

    bench.advance(secs(24 * 3600) + ms(1));

    assert_eq!(known(bench, &one).await?, None);
    assert!(!bench.store.tell(&one, Told::Stop).await?);
    Ok(())
}

pub async fn a_silent_worker_may_still_be_failed(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;
    bench.fill(&["a"]).await?;
    let request = ClaimRequest::worker(one.clone(), 1, 1).lease(secs(3600));
    bench.store.claim(&bench.queue, request).await?;
    bench.advance(secs(120));

    assert_eq!(bench.store.fail_worker(&one).await?, Some(1));

    assert_eq!(bench.ready().await?, ["a"]);
    Ok(())
}

pub async fn a_beating_worker_is_remembered(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;

    for _ in 0..5 {
        bench.advance(secs(50));
        assert_eq!(bench.store.beat(idle(&one)).await?, Told::Continue);
    }

    assert!(known(bench, &one).await?.is_some());
    Ok(())
}

/// A worker `one` that holds `a` and `b` here and `x` in the other queue.
async fn busy_worker(bench: &Bench) -> Result<(BootId, QueueName)> {
    let one = boot("one");
    let other = queue(&format!("{}.other", bench.queue));
    bench
        .store
        .register(worker(&one, &[&bench.queue, &other]))
        .await?;
    bench.fill(&["a", "b", "c"]).await?;
    bench.store.enqueue(&other, vec![named("x")]).await?;
    bench.take_as(&one, 1, 2).await?;
    let request = ClaimRequest::worker(one.clone(), 1, 1);
    assert!(bench.store.claim(&other, request).await?.is_some());
    Ok((one, other))
}

pub async fn a_worker_that_leaves_gives_all_back_to_the_front(bench: &Bench) -> Result<()> {
    let (one, other) = busy_worker(bench).await?;

    assert_eq!(bench.store.leave(&one, None).await?, 3);

    assert_eq!(bench.ready().await?, ["a", "b", "c"]);
    let job = bench.job("a").await?;
    assert_eq!((job.attempt, job.expiries), (1, 0));
    assert_eq!(
        bench.store.stats(&other).await?.map(|stats| stats.ready),
        Some(1)
    );
    assert_eq!(known(bench, &one).await?, None);
    assert_eq!(bench.store.beat(idle(&one)).await?, Told::Lost);
    Ok(())
}

pub async fn a_worker_may_leave_one_queue_and_go_on_in_the_rest(bench: &Bench) -> Result<()> {
    let (one, other) = busy_worker(bench).await?;

    assert_eq!(bench.store.leave(&one, Some(&bench.queue)).await?, 2);

    assert_eq!(bench.ready().await?, ["a", "b", "c"]);
    assert_eq!(
        bench.store.stats(&other).await?.map(|stats| stats.running),
        Some(1)
    );
    let still = known(bench, &one).await?.expect("it is still known");
    assert_eq!(still.new.queues, [other]);
    assert_eq!(bench.store.beat(idle(&one)).await?, Told::Continue);
    Ok(())
}

/// Claims one job for a worker, under a lease of its own, as the doors do.
async fn take_for(bench: &Bench, boot: &BootId) -> Result<Claim> {
    let mut request = ClaimRequest::single(1);
    request.claimer = Claimer::Single {
        worker: Some(boot.clone()),
    };
    let claim = bench.store.claim(&bench.queue, request).await?;
    Ok(claim.expect("a job is ready"))
}

/// A worker `one` that holds `a`, `b` and `d` by claims of their own, beside another's `c`.
async fn pull_worker(bench: &Bench) -> Result<(BootId, Vec<Claim>)> {
    let (one, two) = (boot("one"), boot("two"));
    for boot in [&one, &two] {
        bench.store.register(worker(boot, &[&bench.queue])).await?;
    }
    bench.fill(&["a", "b", "c", "d", "e"]).await?;
    let mut claims = Vec::new();
    for boot in [&one, &one, &two, &one] {
        claims.push(take_for(bench, boot).await?);
    }
    Ok((one, claims))
}

pub async fn a_worker_that_leaves_gives_back_what_single_claims_took_for_it(
    bench: &Bench,
) -> Result<()> {
    let (one, claims) = pull_worker(bench).await?;

    assert_eq!(bench.store.leave(&one, None).await?, 3);

    assert_eq!(bench.ready().await?, ["a", "b", "d", "e"]);
    assert_eq!(bench.job("a").await?.expiries, 0);
    assert_eq!(bench.complete(hold(&claims[0], 0)).await?, Settled::Lost);
    assert_eq!(
        bench.complete(hold(&claims[2], 0)).await?,
        Settled::Completed
    );
    Ok(())
}

pub async fn what_single_claims_took_for_a_failed_worker_is_reaped_now(
    bench: &Bench,
) -> Result<()> {
    let (one, claims) = pull_worker(bench).await?;

    assert_eq!(bench.store.fail_worker(&one).await?, Some(3));

    assert_eq!(bench.ready().await?, ["a", "b", "d", "e"]);
    assert_eq!(bench.job("d").await?.expiries, 1);
    assert_eq!(bench.whole().await?.stats.total.rescued, 3);
    assert_eq!(bench.complete(hold(&claims[3], 0)).await?, Settled::Lost);
    assert_eq!(bench.state("c").await?, Some(JobState::Running));
    Ok(())
}

pub async fn what_single_claims_took_goes_back_in_order_where_jobs_go_to_the_back(
    bench: &Bench,
) -> Result<()> {
    let setting = "requeue=back".parse().expect("a setting");
    bench.store.set(&bench.queue, vec![setting]).await?;
    let (one, _) = pull_worker(bench).await?;

    assert_eq!(bench.store.leave(&one, Some(&bench.queue)).await?, 3);

    assert_eq!(bench.ready().await?, ["e", "a", "b", "d"]);
    Ok(())
}

pub async fn what_a_leaver_held_is_lost_to_it(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let one = boot("one");
    let claim = bench.take_as(&one, 1, 1).await?;
    assert_eq!(bench.store.leave(&one, Some(&bench.queue)).await?, 1);

    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Lost);

    assert_eq!(bench.state("a").await?, Some(JobState::Ready));
    assert_eq!(bench.store.leave(&one, Some(&bench.queue)).await?, 0);
    Ok(())
}

pub async fn a_failed_workers_jobs_are_reaped_now(bench: &Bench) -> Result<()> {
    let (one, other) = busy_worker(bench).await?;

    assert_eq!(bench.store.fail_worker(&one).await?, Some(3));

    assert_eq!(bench.ready().await?, ["a", "b", "c"]);
    assert_eq!(bench.job("a").await?.expiries, 1);
    assert_eq!(bench.whole().await?.stats.total.rescued, 2);
    assert_eq!(
        bench.store.stats(&other).await?.map(|stats| stats.running),
        Some(0)
    );
    assert_eq!(known(bench, &one).await?, None);
    assert_eq!(bench.store.beat(idle(&one)).await?, Told::Lost);
    Ok(())
}

pub async fn what_a_failed_worker_held_is_lost_to_it(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;
    bench.fill(&["a"]).await?;
    let claim = bench.take_as(&one, 1, 1).await?;
    bench.store.fail_worker(&one).await?;

    let renewed = bench.renew_as(&one, &[claim.token], 1).await?;

    assert_eq!((renewed.until, renewed.lost), (None, vec![claim.token]));
    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Lost);
    Ok(())
}

pub async fn registering_again_is_harmless(bench: &Bench) -> Result<()> {
    let one = boot("one");
    bench.store.register(worker(&one, &[&bench.queue])).await?;

    let again = bench.store.register(worker(&one, &[&bench.queue])).await;

    assert!(
        again.is_ok(),
        "{:?}",
        again.map_err(|error| error.kind() == ErrorKind::Conflict)
    );
    assert_eq!(bench.store.workers().await?.len(), 1);
    Ok(())
}

pub async fn what_a_worker_says_of_itself_is_bounded(bench: &Bench) -> Result<()> {
    let mut loud = worker(&boot("loud"), &[&bench.queue]);
    loud.host = "h".repeat(129);

    let refused = bench
        .store
        .register(loud)
        .await
        .map_err(|error| error.kind());

    assert_eq!(refused, Err(ErrorKind::Invalid));
    assert!(bench.store.workers().await?.is_empty());
    Ok(())
}

pub async fn a_worker_falls_silent_although_the_clock_was_set_back(bench: &Bench) -> Result<()> {
    let early = boot("early");
    bench
        .store
        .register(worker(&early, &[&bench.queue]))
        .await?;

    bench.clock.step_back(secs(60 * 60));
    bench
        .store
        .register(worker(&boot("late"), &[&bench.queue]))
        .await?;
    bench.advance(secs(60));

    let beat = Beat {
        boot: early,
        running: Vec::new(),
    };
    assert_eq!(bench.store.beat(beat).await?, Told::Lost);
    Ok(())
}
