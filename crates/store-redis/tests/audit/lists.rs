//! Ready lists and stale entries.

use windlass_core::{JobState, Priority, Result};
use windlass_testkit::fixture::{lease_of, named, numbered, secs};

use crate::fixture::Site;

#[tokio::test]
async fn a_ready_job_without_an_entry_is_put_at_the_back() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b", "c"]).await?;
    site.hand("LREM", "ready:5", &["1", "a"]);

    assert_eq!(site.mend().await?, ["not_listed a"]);

    assert_eq!(site.drain().await?, ["b", "c", "a"]);
    Ok(())
}

#[tokio::test]
async fn jobs_of_a_lost_list_are_all_put_back() -> Result<()> {
    let site = Site::open().await;
    site.bench.enqueue_all(numbered(800)).await?;
    site.bench
        .enqueue(named("urgent").priority(Priority::new(2)?))
        .await?;
    site.hand("DEL", "ready:5", &[]);

    assert_eq!(site.mend().await?.len(), 800);

    let ids = site.drain().await?;
    assert_eq!((ids[0].as_str(), ids[1].as_str()), ("urgent", "j000"));
    assert_eq!(ids.len(), 801);
    Ok(())
}

#[tokio::test]
async fn a_job_that_is_entered_twice_keeps_its_turn_and_runs_once() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b", "c"]).await?;
    site.hand("RPUSH", "ready:5", &["a", "a"]);

    assert_eq!(site.mend().await?, ["listed_twice a"]);

    assert_eq!(site.drain().await?, ["a", "b", "c"]);
    assert_eq!(site.hand("LLEN", "ready:5", &[]).integer(), 0);
    assert_eq!(site.hand("HLEN", "ghosts", &[]).integer(), 0);
    Ok(())
}

#[tokio::test]
async fn a_lost_entry_is_found_though_another_is_there_twice() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b", "c"]).await?;
    site.hand("LREM", "ready:5", &["1", "b"]);
    site.hand("RPUSH", "ready:5", &["c"]);

    assert_eq!(site.mend().await?, ["listed_twice c", "not_listed b"]);

    assert_eq!(site.drain().await?, ["a", "c", "b"]);
    Ok(())
}

#[tokio::test]
async fn an_entry_in_a_wrong_list_is_taken_out() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b"]).await?;
    site.hand("LREM", "ready:5", &["1", "a"]);
    site.hand("RPUSH", "ready:0", &["a"]);

    assert_eq!(site.mend().await?, ["entry_wrong a", "not_listed a"]);

    assert_eq!(site.drain().await?, ["b", "a"]);
    Ok(())
}

#[tokio::test]
async fn entries_that_name_no_job_are_taken_out() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b"]).await?;
    site.hand(
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
    site.hand("HDEL", "jobs", &["b"]);

    let faults = site.mend().await?;

    let expected = [
        "entry_unreadable",
        "entry_wrong a",
        "stats_wrong",
        "without_job b",
        "without_job nobody",
        "without_job removed",
    ];
    assert_eq!(faults, expected);
    site.bench.fill(&["removed"]).await?;
    assert_eq!(site.drain().await?, ["a", "removed"]);
    assert_eq!(site.hand("HLEN", "ghosts", &[]).integer(), 0);
    Ok(())
}

#[tokio::test]
async fn entries_of_jobs_that_are_elsewhere_are_taken_out() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.fill(&["run", "done", "stop"]).await?;
    bench.enqueue(named("later").delay(secs(60))).await?;
    let run = bench.take(1).await?;
    let done = bench.take(1).await?;
    bench.complete_with(lease_of(&done, 0), "result").await?;
    bench.cancel("stop").await?;
    // The entry of the cancelled job is stale; these are not known to be.
    site.hand("RPUSH", "ready:5", &["run", "done", "later"]);
    site.hand("RPUSH", "ready:2", &["stop"]);

    let faults = site.mend().await?;

    let expected = [
        "in_two_states done",
        "in_two_states later",
        "in_two_states run",
    ];
    assert!(
        expected
            .iter()
            .all(|fault| faults.contains(&(*fault).to_owned())),
        "{faults:?}"
    );
    assert_eq!(bench.claim(10).await?, None);
    assert_eq!(
        bench.complete(lease_of(&run, 0)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    assert_eq!(bench.state("stop").await?, Some(JobState::Cancelled));
    assert_eq!(bench.state("later").await?, Some(JobState::Scheduled));
    Ok(())
}

#[tokio::test]
async fn stale_entries_that_are_miscounted_are_counted_again() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.fill(&["a", "b", "c", "d"]).await?;
    for id in ["a", "b", "c"] {
        bench.cancel(id).await?;
    }
    // One too many, one too few, one that never was, one that cannot be read.
    site.hand("HSET", "ghosts", &["a", "5 0", "never", "1 3", "c", "many"]);
    site.hand("LREM", "ready:5", &["1", "b"]);

    let faults = site.mend().await?;

    let expected = [
        "in_two_states c",
        "stale_entries_miscounted a",
        "stale_entries_miscounted b",
        "stale_entries_miscounted never",
        "stale_entries_unreadable c",
        "stats_wrong",
    ];
    assert_eq!(faults, expected);
    assert_eq!(site.drain().await?, ["d"]);
    assert_eq!(site.hand("HLEN", "ghosts", &[]).integer(), 0);
    Ok(())
}

#[tokio::test]
async fn stale_entries_that_the_figures_forgot_are_known_again() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b"]).await?;
    site.bench.cancel("a").await?;
    site.set_figure(7, 0.0);

    assert_eq!(site.mend().await?, ["stats_wrong"]);

    assert_eq!(site.drain().await?, ["b"]);
    Ok(())
}
