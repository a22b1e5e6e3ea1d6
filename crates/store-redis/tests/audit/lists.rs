//! Ready lists and stale entries.

use windlass_core::{JobState, Priority, Result};
use windlass_testkit::fixture::{lease_of, named, numbered, secs};

use crate::fixture::AuditFixture;

#[tokio::test]
async fn a_ready_job_without_an_entry_is_put_at_the_back() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b", "c"]).await?;
    test.command("LREM", "ready:5", &["1", "\t0\ta"]);

    assert_eq!(test.repair().await?, ["not_listed a"]);

    assert_eq!(test.drain().await?, ["b", "c", "a"]);
    Ok(())
}

#[tokio::test]
async fn jobs_of_a_lost_list_are_all_put_back() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.enqueue_all(numbered(800)).await?;
    test.fixture
        .enqueue(named("urgent").priority(Priority::new(2)?))
        .await?;
    test.command("DEL", "ready:5", &[]);

    assert_eq!(test.repair().await?.len(), 800);

    let ids = test.drain().await?;
    assert_eq!((ids[0].as_str(), ids[1].as_str()), ("urgent", "j000"));
    assert_eq!(ids.len(), 801);
    Ok(())
}

#[tokio::test]
async fn a_job_with_two_entries_keeps_its_position_and_runs_once() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b", "c"]).await?;
    test.command("RPUSH", "ready:5", &["a", "a"]);

    assert_eq!(test.repair().await?, ["listed_twice a"]);

    assert_eq!(test.drain().await?, ["a", "b", "c"]);
    assert_eq!(test.command("LLEN", "ready:5", &[]).integer(), 0);
    assert_eq!(test.command("HLEN", "ghosts", &[]).integer(), 0);
    Ok(())
}

#[tokio::test]
async fn a_lost_entry_is_found_though_another_exists_twice() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b", "c"]).await?;
    test.command("LREM", "ready:5", &["1", "\t0\tb"]);
    test.command("RPUSH", "ready:5", &["c"]);

    assert_eq!(test.repair().await?, ["listed_twice c", "not_listed b"]);

    assert_eq!(test.drain().await?, ["a", "c", "b"]);
    Ok(())
}

#[tokio::test]
async fn an_entry_in_a_wrong_list_is_removed() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b"]).await?;
    test.command("LREM", "ready:5", &["1", "\t0\ta"]);
    test.command("RPUSH", "ready:0", &["a"]);

    assert_eq!(test.repair().await?, ["entry_wrong a", "not_listed a"]);

    assert_eq!(test.drain().await?, ["b", "a"]);
    Ok(())
}

#[tokio::test]
async fn entries_that_name_no_job_are_removed() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b"]).await?;
    test.command(
        "LPUSH",
        "ready:5",
        &[
            "nobody",
            "removed",
            "\t1\tnobody",
            "\tx\ta",
            "",
            "\t1\ta",
            "bad\nid",
        ],
    );
    test.command("HDEL", "jobs", &["b"]);

    let repairs = test.repair().await?;

    let expected = [
        "entry_unreadable",
        "entry_wrong a",
        "stats_wrong",
        "without_job b",
        "without_job nobody",
        "without_job removed",
    ];
    assert_eq!(repairs, expected);
    test.fixture.fill(&["removed"]).await?;
    assert_eq!(test.drain().await?, ["a", "removed"]);
    assert_eq!(test.command("HLEN", "ghosts", &[]).integer(), 0);
    Ok(())
}

#[tokio::test]
async fn entries_of_jobs_in_other_states_are_removed() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.fill(&["run", "done", "stop"]).await?;
    fixture.enqueue(named("later").delay(secs(60))).await?;
    let run = fixture.take(1).await?;
    let done = fixture.take(1).await?;
    fixture.complete_with(lease_of(&done, 0), "result").await?;
    fixture.cancel("stop").await?;
    // The entry of the cancelled job is recorded as stale; these are not.
    test.command("RPUSH", "ready:5", &["run", "done", "later"]);
    test.command("RPUSH", "ready:2", &["stop"]);

    let repairs = test.repair().await?;

    let expected = [
        "in_two_states done",
        "in_two_states later",
        "in_two_states run",
    ];
    assert!(
        expected
            .iter()
            .all(|repair| repairs.contains(&(*repair).to_owned())),
        "{repairs:?}"
    );
    assert_eq!(fixture.claim(10).await?, None);
    assert_eq!(
        fixture.complete(lease_of(&run, 0)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    assert_eq!(fixture.state("stop").await?, Some(JobState::Cancelled));
    assert_eq!(fixture.state("later").await?, Some(JobState::Scheduled));
    Ok(())
}

#[tokio::test]
async fn stale_entries_that_are_miscounted_are_counted_again() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.fill(&["a", "b", "c", "d"]).await?;
    for id in ["a", "b", "c"] {
        fixture.cancel(id).await?;
    }
    // One too many, one too few, one for an unknown job, one unreadable.
    test.command("HSET", "ghosts", &["a", "5 0", "never", "1 3", "c", "many"]);
    test.command("LREM", "ready:5", &["1", "\t0\tb"]);

    let repairs = test.repair().await?;

    let expected = [
        "in_two_states c",
        "stale_entries_miscounted a",
        "stale_entries_miscounted b",
        "stale_entries_miscounted never",
        "stale_entries_unreadable c",
        "stats_wrong",
    ];
    assert_eq!(repairs, expected);
    assert_eq!(test.drain().await?, ["d"]);
    assert_eq!(test.command("HLEN", "ghosts", &[]).integer(), 0);
    Ok(())
}

#[tokio::test]
async fn stale_entries_missing_from_the_stats_are_counted_again() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a", "b"]).await?;
    test.fixture.cancel("a").await?;
    test.set_stat(7, 0.0);

    assert_eq!(test.repair().await?, ["stats_wrong"]);

    assert_eq!(test.drain().await?, ["b"]);
    Ok(())
}
