//! Ordered lanes: groups whose jobs keep their slot while they wait, so that each group runs in order.

use windlass_core::store::{OnDuplicate, Retry};
use windlass_core::{Due, ErrorKind, JobState, OutcomeStatus, Priority, Result};

use crate::fixture::{Fixture, boot, group_name, grouped, id, ids, leases_of, named, secs};

/// Runs everything that may start, failing the first attempt of the jobs that `fails` names. Returns the order in
/// which the jobs succeeded.
async fn run_all(fixture: &Fixture, fails: &[&str]) -> Result<Vec<String>> {
    let mut done = Vec::new();
    for _ in 0..100 {
        while let Some(claim) = fixture.claim(1).await? {
            let job = &claim.jobs[0];
            if job.attempt == 1 && fails.contains(&job.id.as_str()) {
                fixture.fail(&claim, Retry::At(Due::After(secs(5)))).await?;
            } else {
                done.push(job.id.to_string());
                fixture.complete(&claim).await?;
            }
        }
        fixture.advance(secs(1));
    }
    Ok(done)
}

pub async fn a_lane_runs_in_order_and_waits_for_a_failing_head(fixture: &Fixture) -> Result<()> {
    fixture.set("group_slot=job").await?;
    fixture.fill_groups(&["a1", "a2", "a3", "b1", "b2"]).await?;

    let done = run_all(fixture, &["a1", "a2", "b2"]).await?;

    let of = |group: &str| -> Vec<_> {
        let done = done.iter().filter(|id| id.starts_with(group));
        done.map(String::as_str).collect()
    };
    assert_eq!(of("a"), ["a1", "a2", "a3"]);
    assert_eq!(of("b"), ["b1", "b2"]);
    Ok(())
}

pub async fn the_head_of_a_lane_holds_its_slot_while_it_waits(fixture: &Fixture) -> Result<()> {
    fixture.set("group_slot=job").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs.len(), 1);
    fixture
        .fail(&claim, Retry::At(Due::After(secs(60))))
        .await?;

    assert_eq!(fixture.slots("a").await?, 1);
    assert!(fixture.claim(9).await?.is_none());
    fixture.advance(secs(60));
    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs[0].id, id("a1"));
    fixture.snooze(&claim, Due::After(secs(60))).await?;
    assert!(fixture.claim(9).await?.is_none());
    fixture.cancel("a1").await?;
    assert_eq!(fixture.next(9).await?, ["a2"]);
    Ok(())
}

pub async fn a_lane_ignores_priorities(fixture: &Fixture) -> Result<()> {
    fixture.set("group_slot=job").await?;
    let urgent = grouped("a2").priority(Priority::new(0).expect("valid"));
    fixture.enqueue_all(vec![grouped("a1"), urgent]).await?;

    assert_eq!(run_all(fixture, &[]).await?, ["a1", "a2"]);
    Ok(())
}

pub async fn a_reaped_head_comes_first_again(fixture: &Fixture) -> Result<()> {
    for slot in ["run", "job", "success"] {
        fixture.set(&format!("group_slot={slot}")).await?;
        fixture.set("group_max_running=1").await?;
        fixture.fill_groups(&["a1", "a2"]).await?;
        fixture.take_as(&boot(slot), 1, 5).await?;

        fixture.outlast_lease();

        assert_eq!(run_all(fixture, &[]).await?, ["a1", "a2"], "{slot}");
        fixture.delete("a1").await?;
        fixture.delete("a2").await?;
    }
    Ok(())
}

pub async fn a_lane_goes_on_after_a_dead_head(fixture: &Fixture) -> Result<()> {
    fixture.set("group_slot=job").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    let claim = fixture.take(1).await?;
    fixture.fail(&claim, Retry::Permanent).await?;

    assert_eq!(fixture.next(1).await?, ["a2"]);
    fixture.retry("a1").await?;
    assert!(fixture.claim(1).await?.is_none());
    Ok(())
}

pub async fn a_lane_that_stops_at_a_failure_waits_until_the_dead_head_is_retried(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("group_slot=success").await?;
    fixture.fill_groups(&["a1", "a2", "a3", "b1"]).await?;
    let claim = fixture.take(1).await?;
    let dead = fixture.fail(&claim, Retry::Permanent).await?;
    assert_eq!(dead, OutcomeStatus::Dead);

    let other = fixture.take(9).await?;
    assert_eq!(ids(&other), ["b1"]);
    fixture.complete(&other).await?;
    assert_eq!(fixture.slots("a").await?, 1);
    fixture.retry("a1").await?;

    assert_eq!(run_all(fixture, &[]).await?, ["a1", "a2", "a3"]);
    Ok(())
}

pub async fn a_deleted_or_pruned_dead_head_frees_its_lane(fixture: &Fixture) -> Result<()> {
    fixture.set("group_slot=success").await?;
    fixture.fill_groups(&["a1", "a2", "b1", "b2"]).await?;
    let claim = fixture.take(9).await?;
    for lease in leases_of(&claim) {
        fixture.fail(lease, Retry::Permanent).await?;
    }
    assert!(fixture.claim(9).await?.is_none());

    fixture.delete("a1").await?;
    assert_eq!(fixture.next(9).await?, ["a2"]);
    fixture.set("dead_age=1s").await?;
    fixture.advance(secs(2));
    fixture.maintain().await?;
    assert_eq!(fixture.get("b1").await?, None);
    assert_eq!(fixture.next(9).await?, ["b2"]);
    Ok(())
}

pub async fn a_job_that_expired_before_it_started_stops_no_lane(fixture: &Fixture) -> Result<()> {
    fixture.set("group_slot=success").await?;
    let expiring = grouped("a1").expires(Due::After(secs(5)));
    fixture.enqueue_all(vec![expiring, grouped("a2")]).await?;

    fixture.advance(secs(5));

    assert_eq!(fixture.next(9).await?, ["a2"]);
    assert_eq!(fixture.state("a1").await?, Some(JobState::Dead));
    Ok(())
}

pub async fn a_lane_may_run_several_jobs(fixture: &Fixture) -> Result<()> {
    fixture.set("group_slot=job").await?;
    fixture.set("group_max_running=2").await?;
    fixture.fill_groups(&["a1", "a2", "a3", "a4"]).await?;
    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs.len(), 2);
    let leases = leases_of(&claim);
    fixture.fail(leases[0].clone(), Retry::At(Due::Now)).await?;
    fixture.advance(secs(1));

    assert_eq!(fixture.next(9).await?, ["a1"]);
    fixture.set("group_max_running=1").await?;
    fixture.complete(leases[1].clone()).await?;
    assert!(fixture.claim(9).await?.is_none());
    Ok(())
}

pub async fn a_waiting_head_that_is_replaced_keeps_its_slot_in_the_same_group(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("group_slot=job").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    let claim = fixture.take(1).await?;
    fixture
        .fail(&claim, Retry::At(Due::After(secs(60))))
        .await?;
    let replace = |group: &str| {
        let job = named("a1").group(group_name(group));
        job.on_duplicate(OnDuplicate::Replace)
    };

    fixture.enqueue(replace("a")).await?;
    assert_eq!(fixture.slots("a").await?, 1);
    assert!(fixture.claim(9).await?.is_none());

    fixture.enqueue(replace("b")).await?;
    assert_eq!(fixture.slots("a").await?, 0);
    assert_eq!(fixture.next(9).await?, ["a2"]);
    Ok(())
}

pub async fn how_long_a_slot_is_held_changes_only_in_an_empty_queue(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("group_slot=job").await?;
    fixture.fill_groups(&["a1"]).await?;

    let refused = fixture.set("group_slot=run").await;
    assert_eq!(
        refused.map_err(|error| error.kind()),
        Err(ErrorKind::Conflict)
    );

    fixture.store.purge(&fixture.queue).await?;
    fixture.set("group_slot=run").await?;
    Ok(())
}
