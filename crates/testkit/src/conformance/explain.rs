//! Why a job waits: one case per reason, and what holds for all of them.

use windlass_core::explain::{Explanation, WaitReason};
use windlass_core::store::{Overlap, Retry, SnoozeScope};
use windlass_core::{Claim, Due, JobState, Priority, Result, Timestamp};

use super::workers::worker;
use crate::fixture::{
    Fixture, almost, boot, every, group_name, grouped, id, leases_of, ms, named, numbered, secs,
};

/// Registers a worker, so that none is missing for a minute.
async fn serve(fixture: &Fixture) -> Result<()> {
    let new = worker(&boot("w"), &[&fixture.queue]);
    fixture.store.register(new).await
}

async fn explain(fixture: &Fixture, name: &str) -> Result<Explanation> {
    let found = fixture.store.explain(&fixture.queue, &id(name)).await?;
    Ok(found.unwrap_or_else(|| panic!("{name} is stored")))
}

/// The words of the reasons of a job.
async fn words(fixture: &Fixture, name: &str) -> Result<Vec<&'static str>> {
    let reasons = explain(fixture, name).await?.reasons;
    let words = reasons.iter().map(|reason| reason.word().as_str());
    Ok(words.collect())
}

async fn snooze(fixture: &Fixture, claim: &Claim, scope: SnoozeScope) -> Result<()> {
    let due = Due::After(secs(30));
    let leases = leases_of(claim).into_iter();
    let snoozes = leases.map(|lease| lease.snooze(due).scope(scope)).collect();
    fixture.store.snooze(&fixture.queue, snoozes).await?;
    Ok(())
}

/// Asserts that a job starts when its binding reason ends, and not before.
async fn starts_at_its_time(fixture: &Fixture, name: &str, until: Timestamp) -> Result<()> {
    serve(fixture).await?;
    let explained = explain(fixture, name).await?;
    assert_eq!(explained.reasons[0].until(), Some(until));
    let left = until.since(fixture.now());
    assert_eq!(explained.eta.map(|eta| eta.after), Some(left));
    fixture.advance(almost(left));
    assert!(fixture.claim(1).await?.is_none());
    fixture.advance(ms(1));
    assert_eq!(fixture.next(1).await?, [name]);
    Ok(())
}

pub async fn a_job_that_does_not_exist_is_not_explained(fixture: &Fixture) -> Result<()> {
    let missing = fixture.store.explain(&fixture.queue, &id("a")).await?;
    assert_eq!(missing, None);
    fixture.fill(&["b"]).await?;
    let missing = fixture.store.explain(&fixture.queue, &id("a")).await?;
    assert_eq!(missing, None);
    Ok(())
}

pub async fn nothing_keeps_the_first_job_back_and_the_others_are_behind_it(
    fixture: &Fixture,
) -> Result<()> {
    serve(fixture).await?;
    fixture.enqueue_at(5, "a").await?;
    fixture.advance(secs(1));
    fixture.enqueue_at(5, "b").await?;
    assert_eq!(explain(fixture, "a").await?.reasons, []);
    let behind = |ahead| WaitReason::Behind {
        ahead,
        is_estimate: false,
    };
    assert_eq!(explain(fixture, "b").await?.reasons, [behind(1)]);

    fixture.enqueue_at(2, "urgent").await?;
    fixture.enqueue_at(9, "late").await?;
    assert_eq!(explain(fixture, "b").await?.reasons, [behind(2)]);
    assert_eq!(explain(fixture, "late").await?.reasons, [behind(3)]);
    Ok(())
}

pub async fn jobs_ahead_in_a_group_are_exact(fixture: &Fixture) -> Result<()> {
    serve(fixture).await?;
    fixture.fill_groups(&["a1", "a2", "a3", "a4", "b1"]).await?;
    fixture.cancel("a2").await?;
    let urgent = grouped("a5").priority(Priority::new(1)?);
    fixture.enqueue(urgent).await?;
    fixture.enqueue_at(0, "plain").await?;

    let ahead = |ahead| WaitReason::Behind {
        ahead,
        is_estimate: false,
    };
    assert_eq!(explain(fixture, "a4").await?.reasons, [ahead(4)]);
    assert_eq!(explain(fixture, "a5").await?.reasons, [ahead(1)]);
    assert_eq!(explain(fixture, "b1").await?.reasons, [ahead(2)]);
    assert_eq!(explain(fixture, "plain").await?.reasons, []);
    Ok(())
}

pub async fn an_estimate_of_the_jobs_ahead_says_so_and_stays_within_the_line(
    fixture: &Fixture,
) -> Result<()> {
    serve(fixture).await?;
    for job in numbered(40) {
        fixture.enqueue(job).await?;
        fixture.advance(ms(10));
    }

    let reasons = explain(fixture, "j020").await?.reasons;

    let [WaitReason::Behind { ahead, is_estimate }] = reasons[..] else {
        panic!("{reasons:?}");
    };
    assert!(ahead == 20 || is_estimate, "{ahead}");
    // The jobs came at an even pace.
    assert!((18..=22).contains(&ahead), "{ahead}");
    Ok(())
}

pub async fn a_finished_job_is_final(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;

    let explained = explain(fixture, "a").await?;

    let job = fixture.job("a").await?;
    let expected = WaitReason::Final {
        finished_at: job.finished_at,
        reason: job.reason,
        error: job.error,
    };
    assert_eq!((explained.state, explained.eta), (JobState::Dead, None));
    assert_eq!(explained.reasons, [expected]);
    Ok(())
}

pub async fn a_running_job_says_which_worker_runs_it_and_until_when(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take_as(&boot("w"), 1, 1).await?;
    fixture.cancel("a").await?;

    let explained = explain(fixture, "a").await?;

    let job = fixture.job("a").await?;
    let expected = WaitReason::Running {
        worker: Some(boot("w")),
        since: Some(fixture.now()),
        lease_until: job.lease_until,
        progress: None,
        is_cancel_requested: true,
    };
    assert!(job.lease_until.is_some());
    assert_eq!(explained.reasons, [expected]);
    Ok(())
}

pub async fn a_delayed_job_and_a_retry_start_when_they_are_due(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(20))).await?;
    starts_at_its_time(fixture, "a", fixture.now().plus(secs(20))).await?;

    fixture.fill(&["b"]).await?;
    let claim = fixture.take(1).await?;
    let later = Retry::At(Due::After(secs(10)));
    fixture.fail(&claim, later).await?;
    let reasons = explain(fixture, "b").await?.reasons;
    let error = fixture.job("b").await?.error;
    let expected = WaitReason::Scheduled {
        until: fixture.now().plus(secs(10)),
        attempt: 2,
        error: error.clone(),
    };
    assert!(error.is_some());
    assert_eq!(reasons, [expected]);
    starts_at_its_time(fixture, "b", fixture.now().plus(secs(10))).await
}

pub async fn a_pending_job_names_the_job_that_it_waits_for(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 10);
    schedule.overlap = Overlap::Buffer;
    fixture.put(schedule).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;
    fixture.advance(secs(10));
    fixture.maintain().await?;
    serve(fixture).await?;

    let pending = fixture.id_at("s", 20);
    let explained = explain(fixture, &pending).await?;

    let waits_for = Some((claim.jobs[0].id.clone(), JobState::Running));
    assert_eq!(explained.reasons, [WaitReason::Pending { waits_for }]);
    assert_eq!(explained.state, JobState::Pending);
    Ok(())
}

pub async fn a_paused_queue_is_a_reason_until_it_is_resumed(fixture: &Fixture) -> Result<()> {
    serve(fixture).await?;
    fixture.fill(&["a"]).await?;
    fixture.enqueue(named("b").delay(secs(9))).await?;
    fixture.store.set_paused(&fixture.queue, true).await?;

    assert_eq!(words(fixture, "a").await?, ["queue_paused"]);
    assert_eq!(words(fixture, "b").await?, ["scheduled", "queue_paused"]);
    assert_eq!(explain(fixture, "b").await?.eta, None);

    fixture.store.set_paused(&fixture.queue, false).await?;
    assert_eq!(words(fixture, "a").await?, [""; 0]);
    Ok(())
}

pub async fn a_full_queue_is_a_reason(fixture: &Fixture) -> Result<()> {
    serve(fixture).await?;
    fixture.set("max_running=1").await?;
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;

    let full = WaitReason::QueueFull {
        running: 1,
        max_running: 1,
    };
    assert_eq!(explain(fixture, "b").await?.reasons, [full]);

    fixture.complete(&claim).await?;
    assert_eq!(explain(fixture, "b").await?.reasons, []);
    Ok(())
}

pub async fn a_closed_rate_of_the_queue_says_when_it_opens(fixture: &Fixture) -> Result<()> {
    fixture.set("rate=2/10s").await?;
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;
    fixture.complete(&claim).await?;

    starts_at_its_time(fixture, "b", fixture.now().plus(secs(5))).await
}

pub async fn a_resting_queue_says_until_when(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    snooze(fixture, &claim, SnoozeScope::Queue).await?;

    assert_eq!(words(fixture, "a").await?, ["no_worker", "queue_resting"]);
    starts_at_its_time(fixture, "a", fixture.now().plus(secs(30))).await
}

pub async fn a_paused_group_is_a_reason_for_its_jobs_alone(fixture: &Fixture) -> Result<()> {
    serve(fixture).await?;
    fixture.fill_groups(&["a1", "b1"]).await?;
    let later = grouped("a2").delay(secs(9));
    fixture.enqueue(later).await?;
    fixture.pause_group("a", true).await?;

    let group = group_name("a");
    let paused = WaitReason::GroupPaused { group };
    assert_eq!(explain(fixture, "a1").await?.reasons, [paused]);
    assert_eq!(words(fixture, "a2").await?, ["scheduled", "group_paused"]);
    assert_eq!(explain(fixture, "b1").await?.reasons, []);
    Ok(())
}

pub async fn a_resting_group_says_until_when(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1"]).await?;
    let claim = fixture.take(1).await?;
    snooze(fixture, &claim, SnoozeScope::Group).await?;
    serve(fixture).await?;

    assert_eq!(words(fixture, "a1").await?, ["group_resting"]);
    starts_at_its_time(fixture, "a1", fixture.now().plus(secs(30))).await
}

pub async fn a_closed_rate_of_a_group_says_when_it_opens(fixture: &Fixture) -> Result<()> {
    fixture.set("group_rate=1/20s").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    let claim = fixture.take(9).await?;
    fixture.complete(&claim).await?;
    serve(fixture).await?;

    assert_eq!(words(fixture, "a2").await?, ["group_rate"]);
    starts_at_its_time(fixture, "a2", fixture.now().plus(secs(20))).await
}

pub async fn a_full_group_names_the_jobs_that_hold_its_slots(fixture: &Fixture) -> Result<()> {
    serve(fixture).await?;
    fixture.set("group_max_running=12").await?;
    let jobs = (10..24).map(|n| grouped(&format!("a{n}")));
    fixture.enqueue_all(jobs.collect()).await?;
    fixture.take_as(&boot("w"), 1, 20).await?;

    let reasons = explain(fixture, "a22").await?.reasons;

    let [
        WaitReason::GroupFull {
            group,
            slots,
            max_running,
            holders,
        },
    ] = &reasons[..]
    else {
        panic!("{reasons:?}");
    };
    assert_eq!((group.as_str(), *slots, *max_running), ("a", 12, 12));
    let expected: Vec<_> = (10..20).map(|n| format!("a{n}")).collect();
    let ids: Vec<_> = holders.iter().map(|holder| holder.id.to_string()).collect();
    assert_eq!(ids, expected);
    for holder in holders {
        assert_eq!(holder.state, JobState::Running);
        assert_eq!(holder.worker, Some(boot("w")));
        assert_eq!(holder.since, Some(fixture.now()));
    }
    Ok(())
}

pub async fn the_jobs_of_a_lane_name_its_head_and_its_state(fixture: &Fixture) -> Result<()> {
    serve(fixture).await?;
    fixture.set("group_slot=success").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    let head = |state| WaitReason::LaneHead {
        group: group_name("a"),
        head: id("a1"),
        state,
    };
    let last = |explained: &Explanation| explained.reasons.last().cloned();

    assert_eq!(words(fixture, "a2").await?, ["lane_head", "behind"]);
    assert_eq!(words(fixture, "a1").await?, [""; 0]);
    let claim = fixture.take(9).await?;
    assert_eq!(words(fixture, "a2").await?, ["group_full", "lane_head"]);
    assert_eq!(
        last(&explain(fixture, "a2").await?),
        Some(head(JobState::Running))
    );
    let later = Retry::At(Due::After(secs(5)));
    fixture.fail(&claim, later).await?;
    assert_eq!(
        last(&explain(fixture, "a2").await?),
        Some(head(JobState::Scheduled))
    );
    fixture.advance(secs(5));
    fixture.maintain().await?;
    let waiting = explain(fixture, "a2").await?;
    assert!(
        waiting.reasons.contains(&head(JobState::Ready)),
        "{waiting:?}"
    );
    assert_eq!(words(fixture, "a1").await?, [""; 0]);
    let claim = fixture.take(9).await?;
    fixture.fail(&claim, Retry::Permanent).await?;
    assert_eq!(
        last(&explain(fixture, "a2").await?),
        Some(head(JobState::Dead))
    );

    fixture.delete("a1").await?;
    assert_eq!(words(fixture, "a2").await?, [""; 0]);
    Ok(())
}

pub async fn a_suspect_says_how_often_its_lease_expired(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    for _ in 0..2 {
        fixture.take(2).await?;
        fixture.outlast_lease();
        fixture.maintain().await?;
    }
    serve(fixture).await?;

    let suspect = WaitReason::Suspect {
        expiries: 2,
        poison_after: 4,
    };
    assert_eq!(explain(fixture, "a").await?.reasons, [suspect]);
    assert_eq!(words(fixture, "b").await?, ["suspect", "behind"]);
    Ok(())
}

pub async fn a_queue_without_a_worker_for_a_minute_says_so(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let other = worker(&boot("other"), &[]);
    fixture.store.register(other).await?;
    let missing = |last_seen| WaitReason::NoWorker { last_seen };
    assert_eq!(explain(fixture, "a").await?.reasons, [missing(None)]);

    serve(fixture).await?;
    let seen = fixture.now();
    fixture.advance(almost(secs(60)));
    assert_eq!(explain(fixture, "a").await?.reasons, []);
    fixture.advance(ms(1));
    assert_eq!(explain(fixture, "a").await?.reasons, [missing(Some(seen))]);
    Ok(())
}

pub async fn explaining_changes_nothing(fixture: &Fixture) -> Result<()> {
    fixture.set("group_max_running=1").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    fixture.fill(&["plain", "other", "third"]).await?;
    fixture.enqueue(named("later").delay(secs(5))).await?;
    fixture.take_as(&boot("w"), 1, 2).await?;
    // Everything that another call would do is due.
    fixture.advance(secs(100));
    let (before, workers) = (fixture.snapshot().await?, fixture.store.workers().await?);

    for name in ["a1", "a2", "plain", "other", "third", "later"] {
        explain(fixture, name).await?;
    }

    assert_eq!(fixture.snapshot().await?, before);
    assert_eq!(fixture.store.workers().await?, workers);
    Ok(())
}

/// Puts an end to what binds a job, as the reason says.
async fn remove(fixture: &Fixture, reason: &WaitReason) -> Result<()> {
    let queue = &fixture.queue;
    if let Some(until) = reason.until() {
        fixture.advance(until.since(fixture.now()));
        return Ok(());
    }
    match reason {
        WaitReason::QueuePaused => fixture.store.set_paused(queue, false).await?,
        WaitReason::QueueFull { .. } => {
            fixture.set("max_running=none").await?;
        }
        WaitReason::GroupPaused { group } => {
            fixture.pause_group(group.as_str(), false).await?;
        }
        WaitReason::GroupFull { group, .. } => {
            fixture
                .set_group(group.as_str(), "max_running=none")
                .await?;
        }
        WaitReason::NoWorker { .. } => serve(fixture).await?,
        other => panic!("a claim hands out nothing because of {other:?}"),
    }
    Ok(())
}

pub async fn every_reason_a_claim_has_is_given_and_removing_it_lets_the_job_start(
    fixture: &Fixture,
) -> Result<()> {
    let mut rng = fastrand::Rng::with_seed(27);
    let settings = [
        ["max_running=none", "max_running=2"],
        ["rate=none", "rate=2/1m"],
        ["group_max_running=none", "group_max_running=1"],
        ["group_rate=none", "group_rate=1/1m"],
    ];
    for round in 0..16 {
        let slot = ["run", "job", "success"][rng.usize(..3)];
        fixture.set(&format!("group_slot={slot}")).await?;
        for choices in settings {
            fixture.set(choices[rng.usize(..2)]).await?;
        }
        let name = |n: usize| format!("{}{round:02}{n}", ["p", "a", "b"][n % 3]);
        for n in 0..9 {
            let job = if n % 3 == 0 {
                named(&name(n))
            } else {
                grouped(&name(n))
            };
            let priority = Priority::new(rng.u8(4..6))?;
            fixture.enqueue(job.priority(priority)).await?;
        }
        if let Some(claim) = fixture.claim(3).await? {
            let scope = *rng.choice(SnoozeScope::ALL).unwrap_or(&SnoozeScope::Job);
            snooze(fixture, &claim, scope).await?;
        }
        fixture.pause_group("a", rng.bool()).await?;
        fixture.store.set_paused(&fixture.queue, rng.bool()).await?;
        for n in 0..9 {
            run(fixture, &name(n)).await?;
        }
        for group in ["a", "b"] {
            fixture.set_group(group, "max_running=default").await?;
        }
    }
    Ok(())
}

/// Claims until a job has run, and removes what binds it whenever a claim hands out nothing.
async fn run(fixture: &Fixture, name: &str) -> Result<()> {
    for _ in 0..100 {
        if fixture.state(name).await?.is_none_or(JobState::is_final) {
            return Ok(());
        }
        if let Some(claim) = fixture.claim(1).await? {
            fixture.complete(&claim).await?;
            continue;
        }
        let reasons = explain(fixture, name).await?.reasons;
        let binding = reasons.first();
        let binding = binding.unwrap_or_else(|| panic!("{name} waits for no reason"));
        remove(fixture, binding).await?;
    }
    panic!("{name} never starts: {:?}", explain(fixture, name).await?)
}
