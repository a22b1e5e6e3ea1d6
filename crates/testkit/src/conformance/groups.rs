//! Groups: limits of running jobs and of claims per period, and whose turn it is.

use windlass_core::store::{GroupLimits, OnDuplicate, OwnLimit, Retry};
use windlass_core::{
    ClaimRequest, Due, ErrorKind, Filter, JobState, Mode, OutcomeStatus, Priority, Result,
};

use crate::fixture::{
    Fixture, almost, boot, group_name, grouped, id, lease_of, leases_of, ms, named, numbered, secs,
};
use crate::paging;

pub async fn a_group_never_runs_more_jobs_than_its_limit(fixture: &Fixture) -> Result<()> {
    fixture.set("group_max_running=2").await?;
    fixture.fill_groups(&["a1", "a2", "a3", "a4"]).await?;

    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs.len(), 2);
    assert!(fixture.claim(9).await?.is_none());
    assert_eq!(fixture.slots("a").await?, 2);

    fixture.complete(&claim).await?;
    assert_eq!(fixture.next(9).await?, ["a3"]);
    Ok(())
}

pub async fn a_full_group_blocks_no_other(fixture: &Fixture) -> Result<()> {
    fixture.set("group_max_running=1").await?;
    fixture.fill_groups(&["a1", "a2", "a3", "b1"]).await?;
    fixture.enqueue(named("plain")).await?;

    assert_eq!(fixture.next(9).await?, ["plain", "a1", "b1"]);
    Ok(())
}

pub async fn every_end_of_an_attempt_frees_the_slot_of_its_group(fixture: &Fixture) -> Result<()> {
    fixture.set("group_max_running=1").await?;
    fixture.fill_groups(&["a1", "a2", "a3", "a4", "a5"]).await?;
    let later = || Due::After(secs(3600));

    let claim = fixture.take(9).await?;
    fixture.fail(&claim, Retry::At(later())).await?;
    let claim = fixture.take(9).await?;
    fixture.fail(&claim, Retry::Permanent).await?;
    let claim = fixture.take(9).await?;
    fixture.snooze(&claim, later()).await?;
    let claim = fixture.take(9).await?;
    fixture.release(&claim).await?;
    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs[0].id, id("a4"));
    fixture.cancel("a4").await?;
    fixture.release(&claim).await?;
    fixture.take_as(&boot("w"), 1, 9).await?;
    let queue = Some(&fixture.queue);
    fixture.store.leave(&boot("w"), queue).await?;

    assert_eq!(fixture.next(9).await?, ["a5"]);
    assert_eq!(fixture.slots("a").await?, 1);
    Ok(())
}

pub async fn the_group_slot_of_a_dead_worker_is_free_when_it_is_reaped(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("group_max_running=1").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    let stale = fixture.take_as(&boot("w1"), 1, 5).await?;
    assert!(fixture.claim_as(&boot("w2"), 1, 5).await?.is_none());

    fixture.outlast_lease();
    let rescued = fixture.take_as(&boot("w2"), 2, 5).await?;
    assert_eq!(rescued.jobs[0].id, id("a1"));

    let late = fixture.complete(&stale).await?;
    assert_eq!(late, OutcomeStatus::LeaseLost);
    assert_eq!(fixture.slots("a").await?, 1);
    assert!(fixture.claim(5).await?.is_none());
    Ok(())
}

pub async fn a_raised_limit_lets_waiting_groups_start(fixture: &Fixture) -> Result<()> {
    fixture.set("group_max_running=1").await?;
    fixture.fill_groups(&["a1", "a2", "b1", "b2"]).await?;
    fixture.take(9).await?;
    assert!(fixture.claim(9).await?.is_none());

    fixture.set_group("b", "max_running=2").await?;
    assert_eq!(fixture.next(9).await?, ["b2"]);
    fixture.set("group_max_running=2").await?;
    assert_eq!(fixture.next(9).await?, ["a2"]);
    Ok(())
}

pub async fn a_blocked_job_of_a_group_stays_ready_and_uses_no_attempt(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("group_rate=1/1h").await?;
    fixture.fill_groups(&["a1", "a2"]).await?;
    fixture.complete(&fixture.take(5).await?).await?;
    let before = fixture.job("a2").await?;

    for _ in 0..5 {
        fixture.advance(secs(60));
        assert!(fixture.claim(5).await?.is_none());
    }

    assert_eq!(fixture.job("a2").await?, before);
    assert_eq!((before.state, before.attempt), (JobState::Ready, 1));
    Ok(())
}

pub async fn each_group_has_its_own_rate_and_says_when_it_opens(fixture: &Fixture) -> Result<()> {
    fixture.set("group_rate=4/10s").await?;
    fixture.fill_groups(&["a1", "a2", "b1", "b2"]).await?;

    assert_eq!(fixture.next(9).await?, ["a1", "b1"]);
    let stats = fixture.store.stats(&fixture.queue).await?;
    assert_eq!(stats.and_then(|stats| stats.next_due_ms), Some(2_500));
    let opens_at = fixture.now().plus(ms(2_500));
    let group = fixture.group("a").await?.expect("it has jobs");
    assert_eq!(group.opens_at, Some(opens_at));

    fixture.advance(almost(ms(2_500)));
    assert!(fixture.claim(9).await?.is_none());
    fixture.advance(ms(1));
    assert_eq!(fixture.next(9).await?, ["a2", "b2"]);
    Ok(())
}

pub async fn no_period_has_more_claims_of_a_group_than_its_rate(fixture: &Fixture) -> Result<()> {
    for burst in [1, 3, 8] {
        fixture.set("group_rate=8/10s").await?;
        fixture.set(&format!("group_burst={burst}")).await?;
        let jobs = (0..60).map(|n| grouped(&format!("a{burst}{n:02}")));
        fixture.enqueue_all(jobs.collect()).await?;
        fixture.advance(secs(100));
        let mut times = Vec::new();
        for _ in 0..100 {
            if let Some(claim) = fixture.claim(100).await? {
                times.extend(claim.jobs.iter().map(|_| fixture.now().as_ms()));
                fixture.complete_all(leases_of(&claim)).await?;
            }
            fixture.advance(ms(500));
        }

        let first = times.iter().filter(|time| **time == times[0]).count();
        assert_eq!(first, burst);
        for window in times.windows(9) {
            assert!(window[8] - window[0] >= 10_000, "burst {burst}: {window:?}");
        }
        while fixture.store.purge(&fixture.queue).await? > 0 {}
    }
    Ok(())
}

pub async fn a_clock_set_back_closes_the_rate_of_a_group_for_one_period_at_most(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("group_rate=2/1h").await?;
    fixture.set("group_burst=2").await?;
    fixture.fill_groups(&["a1", "a2", "a3"]).await?;
    let claim = fixture.take(9).await?;
    fixture.complete_all(leases_of(&claim)).await?;
    fixture.clock.step_back(secs(86_400));

    assert!(fixture.claim(1).await?.is_none());
    fixture.maintain().await?;

    fixture.advance(secs(3_600));
    assert_eq!(fixture.next(1).await?, ["a3"]);
    Ok(())
}

pub async fn groups_take_turns(fixture: &Fixture) -> Result<()> {
    let names = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"];
    fixture.fill_groups(&names).await?;
    fixture.fill(&["plain1", "plain2"]).await?;

    let order = fixture.next(9).await?;

    let expected = ["plain1", "a1", "b1", "c1", "plain2", "a2", "b2", "a3", "a4"];
    assert_eq!(order, expected);
    Ok(())
}

pub async fn priority_comes_before_fairness(fixture: &Fixture) -> Result<()> {
    let urgent = |name: &str| grouped(name).priority(Priority::default());
    let patient = |name: &str| grouped(name).priority(Priority::new(7).expect("valid"));
    let jobs = vec![patient("b1"), urgent("a1"), urgent("a2"), urgent("a3")];
    fixture.enqueue_all(jobs).await?;

    assert_eq!(fixture.next(3).await?, ["a1", "a2", "a3"]);
    assert_eq!(fixture.next(3).await?, ["b1"]);
    Ok(())
}

pub async fn long_jobs_take_no_more_than_their_share(fixture: &Fixture) -> Result<()> {
    let long: Vec<_> = (0..20).map(|n| grouped(&format!("long{n:02}"))).collect();
    let short: Vec<_> = (0..40).map(|n| grouped(&format!("short{n:02}"))).collect();
    fixture.enqueue_all(long).await?;
    fixture.enqueue_all(short).await?;
    // Ten slots: those of short jobs become free again and again, those of long jobs never.
    let first = fixture.take(10).await?;
    let mut running = leases_of(&first);
    for _ in 0..20 {
        let is_short = |id: &str| id.starts_with("short");
        let done = running.iter().position(|lease| is_short(lease.id.as_str()));
        let Some(done) = done else { break };
        fixture.complete(running.swap_remove(done)).await?;
        running.extend(leases_of(&fixture.take(1).await?));
    }

    assert_eq!(fixture.slots("long").await?, 5);
    assert_eq!(fixture.slots("short").await?, 5);
    Ok(())
}

pub async fn many_jobs_of_one_group_do_not_delay_another(fixture: &Fixture) -> Result<()> {
    let many: Vec<_> = (0..500).map(|n| grouped(&format!("many{n:03}"))).collect();
    fixture.enqueue_all(many).await?;
    fixture.take(3).await?;

    fixture.fill_groups(&["one1"]).await?;

    assert_eq!(fixture.next(1).await?, ["one1"]);
    Ok(())
}

pub async fn a_group_is_ordered_by_priority_then_by_age(fixture: &Fixture) -> Result<()> {
    let first = |name: &str| grouped(name).priority(Priority::new(1).expect("valid"));
    let jobs = vec![grouped("a1"), grouped("a2"), first("a3"), first("a4")];
    fixture.enqueue_all(jobs).await?;

    let claim = fixture.take(1).await?;
    fixture.release(&claim).await?;

    assert_eq!(fixture.next(9).await?, ["a3", "a4", "a1", "a2"]);
    Ok(())
}

pub async fn the_slots_of_jobs_without_a_group_count_as_those_of_one(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["plain1", "plain2"]).await?;
    fixture.take(1).await?;
    fixture.fill_groups(&["a1", "a2"]).await?;

    assert_eq!(fixture.next(1).await?, ["a1"]);
    assert_eq!(fixture.next(2).await?, ["plain2", "a2"]);
    Ok(())
}

pub async fn a_paused_group_hands_out_nothing_until_it_is_resumed(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1", "b1"]).await?;
    assert!(fixture.pause_group("a", true).await?.is_paused);

    assert_eq!(fixture.next(9).await?, ["b1"]);
    assert!(fixture.claim(9).await?.is_none());

    fixture.pause_group("a", false).await?;
    assert_eq!(fixture.next(9).await?, ["a1"]);
    Ok(())
}

pub async fn a_group_can_have_limits_of_its_own(fixture: &Fixture) -> Result<()> {
    fixture.set("group_max_running=1").await?;
    let group = fixture.set_group("a", "max_running=none").await?;
    assert_eq!(group.limits.max_running, OwnLimit::None);
    fixture.set_group("b", "rate=1/1m").await?;
    fixture
        .fill_groups(&["a1", "a2", "b1", "b2", "c1", "c2"])
        .await?;

    let claim = fixture.take(9).await?;
    let claimed: Vec<_> = claim.jobs.iter().map(|job| job.id.as_str()).collect();
    assert_eq!(claimed, ["a1", "b1", "c1", "a2"]);
    fixture.complete_all(leases_of(&claim)).await?;
    assert_eq!(fixture.next(9).await?, ["c2"]);

    fixture.set_group("b", "rate=default").await?;
    assert_eq!(fixture.next(9).await?, ["b2"]);
    let refused = fixture.set_group("b", "burst=0").await;
    assert_eq!(
        refused.map_err(|error| error.kind()),
        Err(ErrorKind::Invalid)
    );
    Ok(())
}

pub async fn a_group_that_has_nothing_left_does_not_exist(fixture: &Fixture) -> Result<()> {
    assert_eq!(fixture.group("a").await?, None);
    fixture.set("group_rate=1/10s").await?;
    fixture.fill_groups(&["a1", "b1", "c1"]).await?;
    let groups = paging::groups(fixture.store.as_ref(), &fixture.queue, 2).await?;
    let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);

    let claim = fixture.take(9).await?;
    fixture.complete_all(leases_of(&claim)).await?;
    assert!(
        fixture
            .group("a")
            .await?
            .is_some_and(|group| group.opens_at.is_some())
    );

    fixture.advance(secs(10));
    fixture.maintain().await?;
    assert_eq!(fixture.group("a").await?, None);
    fixture.set_group("b", "max_running=3").await?;
    let groups = paging::groups(fixture.store.as_ref(), &fixture.queue, 2).await?;
    assert_eq!(groups.len(), 1);
    assert_ne!(groups[0].limits, GroupLimits::default());
    Ok(())
}

pub async fn a_job_keeps_its_group_through_every_state(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(grouped("a1").delay(secs(10))).await?;
    assert_eq!(fixture.job("a1").await?.group, Some(group_name("a")));
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;
    assert_eq!(claim.jobs[0].group, Some(group_name("a")));
    fixture.fail(&claim, Retry::Permanent).await?;
    assert_eq!(fixture.job("a1").await?.group, Some(group_name("a")));
    fixture.retry("a1").await?;

    let listed = fixture.list(&Filter::default(), 10).await?;
    assert_eq!(listed[0].group, Some(group_name("a")));
    let group = fixture.group("a").await?.expect("it has a job");
    assert_eq!((group.ready, group.slots), (1, 0));
    Ok(())
}

pub async fn a_replaced_job_moves_to_its_new_group(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1", "a2"]).await?;
    let moved = named("a1").group(group_name("b"));
    fixture
        .enqueue(moved.on_duplicate(OnDuplicate::Replace))
        .await?;

    let ready = async |name| {
        Ok::<_, windlass_core::Error>(fixture.group(name).await?.map(|group| group.ready))
    };
    assert_eq!((ready("a").await?, ready("b").await?), (Some(1), Some(1)));
    let plain = named("a1").on_duplicate(OnDuplicate::Replace);
    fixture.enqueue(plain).await?;
    assert_eq!((ready("a").await?, ready("b").await?), (Some(1), None));
    assert_eq!(fixture.next(9).await?, ["a1", "a2"]);
    Ok(())
}

pub async fn ready_jobs_of_groups_can_be_cancelled_expire_and_be_purged(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill_groups(&["a1", "a2", "b1"]).await?;
    let expiring = grouped("c1").expires(Due::After(secs(5)));
    fixture.enqueue(expiring).await?;
    fixture.cancel("a1").await?;
    fixture.advance(secs(5));
    fixture.maintain().await?;
    assert_eq!(fixture.state("c1").await?, Some(JobState::Dead));
    assert_eq!(fixture.group("c").await?, None);
    assert_eq!(fixture.next(1).await?, ["a2"]);

    assert_eq!(fixture.store.purge(&fixture.queue).await?, 1);
    assert_eq!(fixture.group("b").await?, None);
    assert_eq!(fixture.slots("a").await?, 1);
    Ok(())
}

pub async fn a_limit_of_the_queue_applies_to_its_groups(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=3").await?;
    fixture.set("group_max_running=2").await?;
    fixture.fill_groups(&["a1", "a2", "a3", "b1", "b2"]).await?;

    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs.len(), 3);
    fixture.complete(lease_of(&claim, 0)).await?;
    assert_eq!(fixture.next(9).await?.len(), 1);
    Ok(())
}

pub async fn a_suspect_waits_in_its_group_and_is_handed_out_alone(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1"]).await?;
    for seq in 1..=2 {
        fixture.take_as(&boot("w"), seq, 5).await?;
        fixture.outlast_lease();
        fixture.maintain().await?;
    }
    fixture.fill_groups(&["a2", "b1"]).await?;

    assert_eq!(fixture.next(9).await?, ["a1"]);
    assert_eq!(fixture.next(9).await?, ["b1", "a2"]);
    Ok(())
}

pub async fn claims_at_most_once_are_refused_if_groups_have_a_limit(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill_groups(&["a1", "b1"]).await?;
    let at_most_once = || ClaimRequest::single(9).mode(Mode::AtMostOnce);
    fixture.set("group_max_running=1").await?;
    let refused = fixture.store.claim(&fixture.queue, at_most_once()).await;
    assert_eq!(
        refused.map_err(|error| error.kind()),
        Err(ErrorKind::Conflict)
    );

    fixture.set("group_max_running=none").await?;
    fixture.set_group("a", "max_running=1").await?;
    let claim = fixture.store.claim(&fixture.queue, at_most_once()).await?;
    let claimed: Vec<_> = claim.iter().flat_map(|claim| &claim.jobs).collect();
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].id, id("b1"));
    Ok(())
}

pub async fn an_audit_keeps_groups(fixture: &Fixture) -> Result<()> {
    fixture.set("group_max_running=1").await?;
    fixture.set("group_rate=5/1m").await?;
    fixture.fill_groups(&["a1", "a2", "b1"]).await?;
    fixture.enqueue_all(numbered(2)).await?;
    fixture.take(2).await?;
    let before = fixture.snapshot().await?;

    let (_, repairs) = paging::audit(fixture.store.as_ref(), &fixture.queue).await?;

    assert_eq!(repairs, []);
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}
