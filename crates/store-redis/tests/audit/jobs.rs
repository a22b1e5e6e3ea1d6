//! Jobs in no state or in two, and entries for jobs that do not exist.

use windlass_core::store::{Kind, Retry};
use windlass_core::{Due, Enqueued, JobState, NewJob, Result};
use windlass_testkit::fixture::{boot, id, lease_of, named, secs};

use crate::fixture::{AuditFixture, key};

#[tokio::test]
async fn a_job_that_lost_its_due_time_is_ready() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.enqueue(named("later").delay(secs(60))).await?;
    test.command("ZREM", "scheduled", &["later"]);

    assert_eq!(test.repair().await?, ["not_listed later", "stats_wrong"]);

    assert_eq!(test.drain().await?, ["later"]);
    Ok(())
}

#[tokio::test]
async fn a_job_that_lost_its_lease_record_is_ready() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b"]).await?;
    let claim = test.fixture.take(2).await?;
    test.command("HDEL", "running", &["a"]);

    let repairs = test.repair().await?;

    assert_eq!(repairs, ["claim_miscounted", "not_listed a", "stats_wrong"]);
    assert_eq!(
        test.fixture.complete(lease_of(&claim, 1)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    assert_eq!(test.drain().await?, ["a"]);
    Ok(())
}

#[tokio::test]
async fn an_error_of_a_job_that_never_failed_is_not_left_behind_by_its_end() -> Result<()> {
    let test = AuditFixture::open().await;
    let job = NewJob::new("dear Ann").kind(Kind::new("letter")?);
    let name = job.id.to_string();
    test.fixture.enqueue(job).await?;
    test.command("HSET", "errors", &[&name, "boom"]);

    let repairs = test.repair().await?;

    assert_eq!(repairs, [format!("leftover {name}")]);
    assert_eq!(test.drain().await?, [name]);
    test.assert_sound().await
}

#[tokio::test]
async fn entries_that_name_no_job_are_dropped_everywhere() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b"]).await?;
    let claim = test.fixture.take_as(&boot("one"), 1, 1).await?;
    let (token, missing) = (claim.token.to_string(), "nobody");
    for key in [
        "scheduled",
        "expiring",
        "forgetting",
        "succeeded",
        "dead",
        "cancelled",
    ] {
        test.command("ZADD", key, &["5", missing]);
    }
    test.command("ZADD", "suspects", &["6047313952768", missing]);
    test.command(
        "ZADD",
        "stopping",
        &["0", "b:one\tnobody", "0", "b:two\ta", "0", "nonsense"],
    );
    for key in [
        "opts",
        "errors",
        "results",
        "progress",
        "final",
        "tombstones",
    ] {
        test.command("HSET", key, &[missing, "dead\t5\t\tpoison"]);
    }
    test.command(
        "HSET",
        "unique",
        &["key", missing, "other", "a", "empty", ""],
    );
    test.command("HSET", "running", &[missing, &format!("{token}\t5-6")]);
    test.command("HSET", "results", &["", "x"]);

    let repairs = test.repair().await?;

    let expected = [
        "leftover a",
        "tombstone_wrong nobody",
        "without_job",
        "without_job nobody",
    ];
    assert_eq!(repairs, expected);
    for key in [
        "scheduled",
        "expiring",
        "suspects",
        "dead",
        "stopping",
        "final",
        "unique",
        "results",
        "errors",
    ] {
        assert_eq!(
            test.server
                .command(&["EXISTS", &crate::fixture::key(key)])
                .integer(),
            0,
            "{key}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_job_in_two_states_keeps_the_one_that_loses_no_work() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.fill(&["run", "done", "wait"]).await?;
    fixture.enqueue(named("later").delay(secs(60))).await?;
    let claim = fixture.take(2).await?;
    fixture.complete_with(lease_of(&claim, 1), "result").await?;
    // Running and scheduled, running and ended; ended and scheduled; waiting and ended.
    test.command("ZADD", "scheduled", &["5", "run", "5", "done"]);
    test.command("HSET", "final", &["run", "dead\t5\t\tpoison"]);
    test.command(
        "ZADD",
        "dead",
        &["5", "run", "6", "wait", "7", "later", "8", "done"],
    );
    test.command(
        "ZADD",
        "suspects",
        &["6047313952768", "wait", "6047313952769", "run"],
    );

    let repairs = test.repair().await?;

    let expected = ["run", "done", "wait", "later"].map(|id| format!("in_two_states {id}"));
    assert!(
        expected.iter().all(|repair| repairs.contains(repair)),
        "{repairs:?}"
    );
    for (id, state) in [
        ("run", JobState::Running),
        ("done", JobState::Succeeded),
        ("wait", JobState::Ready),
        ("later", JobState::Scheduled),
    ] {
        assert_eq!(fixture.state(id).await?, Some(state), "{id}");
    }
    assert_eq!(
        fixture.complete(lease_of(&claim, 0)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    assert_eq!(test.drain().await?, ["wait"]);
    Ok(())
}

#[tokio::test]
async fn lost_outcomes_are_restored_from_the_sets_of_ended_jobs() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.fill(&["ok", "bad", "stop", "next"]).await?;
    let claim = fixture.take(2).await?;
    fixture.complete_with(lease_of(&claim, 0), "result").await?;
    fixture.fail(lease_of(&claim, 1), Retry::Permanent).await?;
    fixture.cancel("stop").await?;
    test.command("DEL", "final", &[]);

    let repairs = test.repair().await?;

    assert_eq!(
        repairs,
        [
            "end_state_wrong bad",
            "end_state_wrong ok",
            "end_state_wrong stop"
        ]
    );
    assert_eq!(
        fixture.job("ok").await?.result.as_deref(),
        Some(&b"result"[..])
    );
    assert_eq!(fixture.state("bad").await?, Some(JobState::Dead));
    assert_eq!(fixture.state("stop").await?, Some(JobState::Cancelled));
    assert_eq!(test.drain().await?, ["next"]);
    Ok(())
}

#[tokio::test]
async fn a_recorded_outcome_restores_the_set_entry() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    for name in ["a", "b", "c"] {
        fixture.kill(named(name)).await?;
    }
    test.command("ZREM", "dead", &["a"]);
    test.command("ZADD", "dead", &["77", "b"]);
    test.command("HSET", "final", &["c", "nonsense"]);

    assert_eq!(
        test.repair().await?,
        [
            "end_state_wrong a",
            "end_state_wrong b",
            "end_state_wrong c"
        ]
    );

    assert_eq!(fixture.in_state(JobState::Dead).await?, ["a", "b", "c"]);
    Ok(())
}

#[tokio::test]
async fn suspects_are_kept_with_suspects_of_their_priority() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.set("poison_after=9").await?;
    fixture.fill(&["a", "b", "c"]).await?;
    for _ in 0..2 {
        fixture.take(3).await?;
        fixture.outlast_lease();
        fixture.maintain().await?;
    }
    test.command("ZREM", "suspects", &["a"]);
    test.command("ZADD", "suspects", &["7", "b"]);
    test.command("HDEL", "opts", &["c"]);

    let repairs = test.repair().await?;

    for repair in [
        "entry_wrong b",
        "in_two_states c",
        "not_listed a",
        "opts_unreadable c",
    ] {
        assert!(
            repairs.contains(&repair.to_owned()),
            "{repair}: {repairs:?}"
        );
    }
    let mut ids = test.drain().await?;
    ids.sort();
    assert_eq!(ids, ["a", "b", "c"]);
    Ok(())
}

#[tokio::test]
async fn lost_expiries_are_restored() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    for name in ["a", "b", "c"] {
        fixture
            .enqueue(named(name).expires(Due::After(secs(50))))
            .await?;
    }
    fixture.fill(&["d"]).await?;
    let claim = fixture.take(1).await?;
    test.command("ZREM", "expiring", &["b"]);
    test.command("ZADD", "expiring", &["9", "a", "9", "c", "9", "d"]);

    let repairs = test.repair().await?;

    let expected = [
        "expiry_not_indexed b",
        "expiry_not_indexed c",
        "leftover a",
        "leftover d",
    ];
    assert_eq!(repairs, expected);
    assert_eq!(
        fixture.complete(lease_of(&claim, 0)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    fixture.advance(secs(51));
    assert_eq!(fixture.maintain().await?.expired, 2);
    assert_eq!(test.drain().await?, ["d"]);
    Ok(())
}

#[tokio::test]
async fn unique_keys_belong_to_the_live_jobs_that_requested_them() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    let keyed = |name: &str| named(name).unique_key(format!("k-{name}").parse().expect("a key"));
    for name in ["a", "b", "c", "d"] {
        fixture.enqueue(keyed(name)).await?;
    }
    fixture.cancel("d").await?;
    test.command("HDEL", "unique", &["k-a"]);
    test.command("HSET", "unique", &["k-b", "c", "k-d", "d"]);
    // Now c requests the key of a.
    let opts = test
        .command("HGET", "opts", &["c"])
        .text()
        .replace("k-c", "k-a");
    test.command("HSET", "opts", &["c", &opts]);

    let repairs = test.repair().await?;

    assert_eq!(repairs.len(), 5, "{repairs:?}");
    let keys = fixture.snapshot().await?.unique_keys;
    assert_eq!(keys.len(), 2, "{keys:?}");
    let again = fixture
        .enqueue(named("x").unique_key("k-b".parse()?))
        .await?;
    assert!(matches!(again, Enqueued::Duplicate { id: first, .. } if first == id("b")));
    assert_eq!(test.drain().await?, ["a", "b", "c"]);
    Ok(())
}

#[tokio::test]
async fn jobs_whose_options_were_lost_run_with_defaults() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.fill(&["a", "b"]).await?;
    fixture
        .enqueue(windlass_core::NewJob::new("generated"))
        .await?;
    test.command("DEL", "opts", &[]);
    assert!(
        fixture.claim(1).await.is_err(),
        "its enqueue time is unknown"
    );
    fixture.outlast_lease();

    let repairs = test.repair().await?;

    for repair in ["anchor_missing", "opts_unreadable a", "opts_unreadable b"] {
        assert!(
            repairs.contains(&repair.to_owned()),
            "{repair}: {repairs:?}"
        );
    }
    assert_eq!(test.drain().await?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn unreadable_options_are_dropped_and_the_others_kept() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.enqueue(named("a").kind("mail".parse()?)).await?;
    let opts = test.command("HGET", "opts", &["a"]).text();
    let bad = "px\nzz\nt-1\nr1,2\nkmail\nhodd\nX\ncut";
    test.command("HSET", "opts", &["a", &format!("{opts}{bad}")]);

    assert_eq!(test.repair().await?, ["opts_unreadable a"]);

    assert_eq!(
        fixture
            .job("a")
            .await?
            .kind
            .as_ref()
            .map(ToString::to_string),
        Some("mail".to_owned())
    );
    assert_eq!(test.drain().await?, ["a"]);
    Ok(())
}

#[tokio::test]
async fn unreadable_values_are_repaired() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.fill(&["a", "b"]).await?;
    fixture.enqueue(named("later").delay(secs(60))).await?;
    let claim = fixture.take(2).await?;
    fixture.fail(lease_of(&claim, 0), Retry::Permanent).await?;
    let errors = key("errors");
    let text = fixture.job("a").await?.stored_errors().to_text();
    let mut damaged = text.unwrap_or_default().into_bytes();
    damaged.pop();
    damaged.push(0xff);
    let command: [&[u8]; 4] = [b"HSET", errors.as_bytes(), b"a", &damaged];
    test.server.command(&command).ok();
    test.command("HSET", "progress", &["b", "soon"]);
    test.command("ZADD", "scheduled", &["1.5", "later"]);

    let repairs = test.repair().await?;

    assert_eq!(
        repairs,
        [
            "value_unreadable a",
            "value_unreadable b",
            "value_unreadable later"
        ]
    );
    let job = fixture.job("a").await?;
    assert_eq!(job.error.as_deref(), Some("it brok?"));
    assert_eq!(job.attempts[0].error, job.error);
    assert_eq!(test.drain().await?, ["later"]);
    Ok(())
}

#[tokio::test]
async fn a_job_with_an_invalid_id_gets_a_valid_one() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a"]).await?;
    test.command("HSET", "jobs", &["bad\nid", "payload"]);
    test.command("RPUSH", "ready:5", &["bad\nid"]);

    let repairs = test.repair().await?;

    assert!(
        repairs
            .iter()
            .any(|repair| repair.starts_with("id_unreadable recovered-")),
        "{repairs:?}"
    );
    let ids = test.drain().await?;
    assert_eq!(ids.len(), 2);
    assert!(ids[1].starts_with("recovered-"));
    Ok(())
}

#[tokio::test]
async fn damaged_error_groups_are_dropped_and_lost_ones_listed_again() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.kill(named("a")).await?;
    test.command("HSET", "error_groups", &["\tbad", "soon"]);
    test.command("ZADD", "error_seen", &["5", "\tbad", "6", "\tgone"]);
    test.command("ZREM", "error_seen", &["\tit broke"]);

    let repairs = test.repair().await?;

    let expected = ["error_group_not_listed", "leftover", "value_unreadable"];
    assert_eq!(repairs, expected);
    let groups = test.fixture.store.error_groups(&test.fixture.queue).await?;
    assert_eq!(groups.len(), 1);
    test.assert_sound().await
}
