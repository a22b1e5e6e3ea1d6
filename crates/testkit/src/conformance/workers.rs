//! Workers: records, heartbeats, commands, and the jobs of workers that leave or fail.

use windlass_core::store::{
    Claimer, Heartbeat, NewWorker, WorkerCommand, WorkerRecord, WorkerState,
};
use windlass_core::{
    BootId, Claim, ClaimRequest, ErrorKind, JobState, LeaseTime, OutcomeStatus, QueueName, Result,
};

use crate::fixture::{Fixture, almost, boot, id, ms, named, queue, secs};

pub(super) fn worker(boot: &BootId, queues: &[&QueueName]) -> NewWorker {
    NewWorker {
        boot: boot.clone(),
        name: "mailer".to_owned(),
        host: "cellar".to_owned(),
        pid: 77,
        version: "0.1.0".to_owned(),
        queues: queues.iter().map(|queue| (*queue).clone()).collect(),
    }
}

/// Registers a worker of this queue.
async fn register(fixture: &Fixture, boot: &BootId) -> Result<()> {
    let new = worker(boot, &[&fixture.queue]);
    fixture.store.register(new).await
}

/// Sends a heartbeat of an idle worker.
async fn beat(fixture: &Fixture, boot: &BootId) -> Result<WorkerCommand> {
    let idle = Heartbeat {
        boot: boot.clone(),
        running: vec![],
    };
    fixture.store.heartbeat(idle).await
}

/// Returns the record of a worker.
async fn record(fixture: &Fixture, boot: &BootId) -> Result<Option<WorkerRecord>> {
    let workers = fixture.store.workers().await?;
    Ok(workers.into_iter().find(|worker| worker.new.boot == *boot))
}

pub async fn a_registered_worker_is_known(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    let new = worker(&one, &[&fixture.queue]);

    fixture.store.register(new.clone()).await?;

    let now = fixture.now();
    let expected = WorkerRecord {
        new,
        running: vec![],
        command: WorkerCommand::Continue,
        started_at: now,
        last_seen: now,
        silent_for: ms(0),
    };
    assert_eq!(record(fixture, &one).await?, Some(expected));
    Ok(())
}

pub async fn workers_are_listed_in_the_order_of_their_ids(fixture: &Fixture) -> Result<()> {
    for name in ["c", "a", "b"] {
        register(fixture, &boot(name)).await?;
    }

    let listed = fixture.store.workers().await?;

    let boots: Vec<_> = listed
        .iter()
        .map(|worker| worker.new.boot.as_str())
        .collect();
    assert_eq!(boots, ["a", "b", "c"]);
    Ok(())
}

pub async fn a_heartbeat_shows_what_a_worker_does(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;
    fixture.advance(secs(10));
    let running = vec![(fixture.queue.clone(), id("a"))];

    let reply = fixture
        .store
        .heartbeat(Heartbeat {
            boot: one.clone(),
            running: running.clone(),
        })
        .await?;

    assert_eq!(reply, WorkerCommand::Continue);
    let seen = record(fixture, &one)
        .await?
        .expect("the worker is registered");
    assert_eq!(seen.state(), WorkerState::Busy);
    assert_eq!((seen.running, seen.last_seen), (running, fixture.now()));
    beat(fixture, &one).await?;
    let seen = record(fixture, &one).await?;
    assert_eq!(seen.map(|worker| worker.state()), Some(WorkerState::Idle));
    Ok(())
}

pub async fn a_worker_gets_its_command_with_the_next_heartbeat(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;

    for reply in [WorkerCommand::Pause, WorkerCommand::Stop] {
        assert!(fixture.store.command(&one, reply).await?);
        assert_eq!(
            record(fixture, &one).await?.map(|worker| worker.command),
            Some(reply)
        );
        assert_eq!(beat(fixture, &one).await?, reply);
    }
    Ok(())
}

pub async fn an_unknown_worker_must_register_again(fixture: &Fixture) -> Result<()> {
    let unknown = boot("missing");

    assert_eq!(beat(fixture, &unknown).await?, WorkerCommand::Reregister);
    assert!(!fixture.store.command(&unknown, WorkerCommand::Stop).await?);
    assert_eq!(fixture.store.fail_worker(&unknown).await?, None);
    assert_eq!(fixture.store.leave(&unknown, None).await?, 0);
    assert!(fixture.store.workers().await?.is_empty());
    Ok(())
}

pub async fn a_silent_worker_must_register_again(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;

    fixture.advance(almost(secs(60)));
    assert_eq!(
        record(fixture, &one)
            .await?
            .map(|worker| worker.is_silent()),
        Some(false)
    );

    fixture.advance(ms(1));
    assert_eq!(
        record(fixture, &one)
            .await?
            .map(|worker| worker.is_silent()),
        Some(true)
    );
    assert_eq!(beat(fixture, &one).await?, WorkerCommand::Reregister);
    Ok(())
}

pub async fn a_worker_without_heartbeats_is_late_then_lost(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;

    for (silence, state) in [
        (almost(secs(8)), WorkerState::Idle),
        (secs(8), WorkerState::Late),
        (almost(secs(30)), WorkerState::Late),
        (secs(30), WorkerState::Lost),
    ] {
        beat(fixture, &one).await?;
        fixture.advance(silence);
        let seen = record(fixture, &one).await?;
        assert_eq!(
            seen.map(|worker| worker.state()),
            Some(state),
            "{silence:?}"
        );
    }
    Ok(())
}

pub async fn a_worker_silent_for_a_day_is_forgotten(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;

    fixture.advance(secs(24 * 3600) + ms(1));

    assert_eq!(record(fixture, &one).await?, None);
    assert!(!fixture.store.command(&one, WorkerCommand::Stop).await?);
    Ok(())
}

pub async fn a_silent_worker_may_still_be_failed(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;
    fixture.fill(&["a"]).await?;
    let request = ClaimRequest::worker(one.clone(), 1, 1).lease(LeaseTime::nearest(secs(3600)));
    fixture.store.claim(&fixture.queue, request).await?;
    fixture.advance(secs(120));

    assert_eq!(fixture.store.fail_worker(&one).await?, Some(1));

    assert_eq!(fixture.ready().await?, ["a"]);
    Ok(())
}

pub async fn a_worker_that_sends_heartbeats_is_remembered(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;

    for _ in 0..5 {
        fixture.advance(secs(50));
        assert_eq!(beat(fixture, &one).await?, WorkerCommand::Continue);
    }

    assert!(record(fixture, &one).await?.is_some());
    Ok(())
}

/// Registers a worker `one` that runs `a` and `b` in this queue and `x` in another.
async fn busy_worker(fixture: &Fixture) -> Result<(BootId, QueueName)> {
    let one = boot("one");
    let other = queue(&format!("{}.other", fixture.queue));
    fixture
        .store
        .register(worker(&one, &[&fixture.queue, &other]))
        .await?;
    fixture.fill(&["a", "b", "c"]).await?;
    fixture.store.enqueue(&other, vec![named("x")]).await?;
    fixture.take_as(&one, 1, 2).await?;
    let request = ClaimRequest::worker(one.clone(), 1, 1);
    assert!(fixture.store.claim(&other, request).await?.is_some());
    Ok((one, other))
}

pub async fn a_worker_that_leaves_gives_all_back_to_the_front(fixture: &Fixture) -> Result<()> {
    let (one, other) = busy_worker(fixture).await?;

    assert_eq!(fixture.store.leave(&one, None).await?, 3);

    assert_eq!(fixture.ready().await?, ["a", "b", "c"]);
    let job = fixture.job("a").await?;
    assert_eq!((job.attempt, job.expiries), (1, 0));
    assert_eq!(
        fixture.store.stats(&other).await?.map(|stats| stats.ready),
        Some(1)
    );
    assert_eq!(record(fixture, &one).await?, None);
    assert_eq!(beat(fixture, &one).await?, WorkerCommand::Reregister);
    Ok(())
}

pub async fn a_worker_may_leave_one_queue_and_go_on_in_the_rest(fixture: &Fixture) -> Result<()> {
    let (one, other) = busy_worker(fixture).await?;

    assert_eq!(fixture.store.leave(&one, Some(&fixture.queue)).await?, 2);

    assert_eq!(fixture.ready().await?, ["a", "b", "c"]);
    assert_eq!(running_in(fixture, &other).await?, Some(1));
    let still = record(fixture, &one)
        .await?
        .expect("the worker is still registered");
    assert_eq!(still.new.queues, [other]);
    assert_eq!(beat(fixture, &one).await?, WorkerCommand::Continue);
    Ok(())
}

/// Returns the number of running jobs of a queue.
async fn running_in(fixture: &Fixture, queue: &QueueName) -> Result<Option<u64>> {
    let stats = fixture.store.stats(queue).await?;
    Ok(stats.map(|stats| stats.running))
}

/// Claims one job for a worker with a single claim, as the HTTP API does.
async fn take_for(fixture: &Fixture, boot: &BootId) -> Result<Claim> {
    let mut request = ClaimRequest::single(1);
    request.claimer = Claimer::Single {
        worker: Some(boot.clone()),
    };
    let claim = fixture.store.claim(&fixture.queue, request).await?;
    Ok(claim.expect("a job is ready"))
}

/// Registers a worker `one` that runs `a`, `b` and `d` of single claims; another worker runs `c`.
async fn pull_worker(fixture: &Fixture) -> Result<(BootId, Vec<Claim>)> {
    let (one, two) = (boot("one"), boot("two"));
    for boot in [&one, &two] {
        register(fixture, boot).await?;
    }
    fixture.fill(&["a", "b", "c", "d", "e"]).await?;
    let mut claims = Vec::new();
    for boot in [&one, &one, &two, &one] {
        claims.push(take_for(fixture, boot).await?);
    }
    Ok((one, claims))
}

pub async fn a_worker_that_leaves_gives_back_what_single_claims_took_for_it(
    fixture: &Fixture,
) -> Result<()> {
    let (one, claims) = pull_worker(fixture).await?;

    assert_eq!(fixture.store.leave(&one, None).await?, 3);

    assert_eq!(fixture.ready().await?, ["a", "b", "d", "e"]);
    assert_eq!(fixture.job("a").await?.expiries, 0);
    assert_eq!(
        fixture.complete(&claims[0]).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        fixture.complete(&claims[2]).await?,
        OutcomeStatus::Completed
    );
    Ok(())
}

pub async fn what_single_claims_took_for_a_failed_worker_is_reaped_now(
    fixture: &Fixture,
) -> Result<()> {
    let (one, claims) = pull_worker(fixture).await?;

    assert_eq!(fixture.store.fail_worker(&one).await?, Some(3));

    assert_eq!(fixture.ready().await?, ["a", "b", "d", "e"]);
    assert_eq!(fixture.job("d").await?.expiries, 1);
    assert_eq!(fixture.snapshot().await?.stats.total.rescued, 3);
    assert_eq!(
        fixture.complete(&claims[3]).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(fixture.state("c").await?, Some(JobState::Running));
    Ok(())
}

pub async fn what_single_claims_took_goes_back_in_order_where_jobs_go_to_the_back(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("requeue=back").await?;
    let (one, _) = pull_worker(fixture).await?;

    assert_eq!(fixture.store.leave(&one, Some(&fixture.queue)).await?, 3);

    assert_eq!(fixture.ready().await?, ["e", "a", "b", "d"]);
    Ok(())
}

pub async fn what_a_leaver_held_is_lost_to_it(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let one = boot("one");
    let claim = fixture.take_as(&one, 1, 1).await?;
    assert_eq!(fixture.store.leave(&one, Some(&fixture.queue)).await?, 1);

    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::LeaseLost);

    assert_eq!(fixture.state("a").await?, Some(JobState::Ready));
    assert_eq!(fixture.store.leave(&one, Some(&fixture.queue)).await?, 0);
    Ok(())
}

pub async fn a_failed_workers_jobs_are_reaped_now(fixture: &Fixture) -> Result<()> {
    let (one, other) = busy_worker(fixture).await?;

    assert_eq!(fixture.store.fail_worker(&one).await?, Some(3));

    assert_eq!(fixture.ready().await?, ["a", "b", "c"]);
    assert_eq!(fixture.job("a").await?.expiries, 1);
    assert_eq!(fixture.snapshot().await?.stats.total.rescued, 2);
    assert_eq!(running_in(fixture, &other).await?, Some(0));
    assert_eq!(record(fixture, &one).await?, None);
    assert_eq!(beat(fixture, &one).await?, WorkerCommand::Reregister);
    Ok(())
}

pub async fn what_a_failed_worker_held_is_lost_to_it(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;
    fixture.fill(&["a"]).await?;
    let claim = fixture.take_as(&one, 1, 1).await?;
    fixture.store.fail_worker(&one).await?;

    let renewed = fixture.renew_as(&one, &[claim.token], 1).await?;

    assert_eq!((renewed.until, renewed.lost), (None, vec![claim.token]));
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::LeaseLost);
    Ok(())
}

pub async fn registering_again_is_harmless(fixture: &Fixture) -> Result<()> {
    let one = boot("one");
    register(fixture, &one).await?;

    let again = fixture
        .store
        .register(worker(&one, &[&fixture.queue]))
        .await;

    assert!(
        again.is_ok(),
        "{:?}",
        again.map_err(|error| error.kind() == ErrorKind::Conflict)
    );
    assert_eq!(fixture.store.workers().await?.len(), 1);
    Ok(())
}

pub async fn the_registration_of_a_worker_is_bounded(fixture: &Fixture) -> Result<()> {
    let mut loud = worker(&boot("loud"), &[&fixture.queue]);
    loud.host = "h".repeat(129);

    let refused = fixture
        .store
        .register(loud)
        .await
        .map_err(|error| error.kind());

    assert_eq!(refused, Err(ErrorKind::Invalid));
    assert!(fixture.store.workers().await?.is_empty());
    Ok(())
}

pub async fn a_worker_falls_silent_although_the_clock_was_set_back(
    fixture: &Fixture,
) -> Result<()> {
    let early = boot("early");
    register(fixture, &early).await?;

    fixture.clock.step_back(secs(60 * 60));
    register(fixture, &boot("late")).await?;
    fixture.advance(secs(60));

    assert_eq!(beat(fixture, &early).await?, WorkerCommand::Reregister);
    Ok(())
}
