//! Jobs in no place, in two, and what stands somewhere for a job that does not exist.

use windlass_core::{Due, Enqueued, JobState, Kind, NewJob, Result, Retry};
use windlass_testkit::fixture::{boot, id, lease_of, named, secs};

use crate::fixture::{Site, key};

#[tokio::test]
async fn a_job_that_lost_its_due_time_is_ready() -> Result<()> {
    let site = Site::open().await;
    site.bench.enqueue(named("later").delay(secs(60))).await?;
    site.hand("ZREM", "scheduled", &["later"]);

    assert_eq!(site.mend().await?, ["not_listed later", "stats_wrong"]);

    assert_eq!(site.drain().await?, ["later"]);
    Ok(())
}

#[tokio::test]
async fn a_job_that_lost_its_hold_is_ready() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b"]).await?;
    let claim = site.bench.take(2).await?;
    site.hand("HDEL", "running", &["a"]);

    let faults = site.mend().await?;

    assert_eq!(faults, ["claim_miscounted", "not_listed a", "stats_wrong"]);
    assert_eq!(
        site.bench.complete(lease_of(&claim, 1)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    assert_eq!(site.drain().await?, ["a"]);
    Ok(())
}

#[tokio::test]
async fn an_error_of_a_job_that_never_failed_is_not_left_behind_by_its_end() -> Result<()> {
    let site = Site::open().await;
    let job = NewJob::new("dear Ann").kind(Kind::new("letter")?);
    let name = job.id.to_string();
    site.bench.enqueue(job).await?;
    site.hand("HSET", "errors", &[&name, "boom"]);

    let faults = site.mend().await?;

    assert_eq!(faults, [format!("leftover {name}")]);
    assert_eq!(site.drain().await?, [name]);
    site.assert_sound().await
}

#[tokio::test]
async fn what_names_no_job_is_dropped_everywhere() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a", "b"]).await?;
    let claim = site.bench.take_as(&boot("one"), 1, 1).await?;
    let (token, ghost) = (claim.token.to_string(), "nobody");
    for key in [
        "scheduled",
        "expiring",
        "forgetting",
        "succeeded",
        "dead",
        "cancelled",
    ] {
        site.hand("ZADD", key, &["5", ghost]);
    }
    site.hand("ZADD", "suspects", &["6047313952768", ghost]);
    site.hand(
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
        site.hand("HSET", key, &[ghost, "dead\t5\t\tpoison"]);
    }
    site.hand("HSET", "unique", &["key", ghost, "other", "a", "empty", ""]);
    site.hand("HSET", "running", &[ghost, &format!("{token}\t5-6")]);
    site.hand("HSET", "results", &["", "x"]);

    let faults = site.mend().await?;

    let expected = [
        "leftover a",
        "tombstone_wrong nobody",
        "without_job",
        "without_job nobody",
    ];
    assert_eq!(faults, expected);
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
            site.server
                .command(&["EXISTS", &crate::fixture::key(key)])
                .integer(),
            0,
            "{key}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_job_in_two_places_stays_where_no_work_is_lost() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.fill(&["run", "done", "wait"]).await?;
    bench.enqueue(named("later").delay(secs(60))).await?;
    let claim = bench.take(2).await?;
    bench.complete_with(lease_of(&claim, 1), "result").await?;
    // Running and scheduled, running and ended; ended and scheduled; waiting and ended.
    site.hand("ZADD", "scheduled", &["5", "run", "5", "done"]);
    site.hand("HSET", "final", &["run", "dead\t5\t\tpoison"]);
    site.hand(
        "ZADD",
        "dead",
        &["5", "run", "6", "wait", "7", "later", "8", "done"],
    );
    site.hand(
        "ZADD",
        "suspects",
        &["6047313952768", "wait", "6047313952769", "run"],
    );

    let faults = site.mend().await?;

    let expected = ["run", "done", "wait", "later"].map(|id| format!("in_two_states {id}"));
    assert!(
        expected.iter().all(|fault| faults.contains(fault)),
        "{faults:?}"
    );
    for (id, state) in [
        ("run", JobState::Running),
        ("done", JobState::Succeeded),
        ("wait", JobState::Ready),
        ("later", JobState::Scheduled),
    ] {
        assert_eq!(bench.state(id).await?, Some(state), "{id}");
    }
    assert_eq!(
        bench.complete(lease_of(&claim, 0)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    assert_eq!(site.drain().await?, ["wait"]);
    Ok(())
}

#[tokio::test]
async fn ends_that_were_lost_are_told_by_the_places_of_ended_jobs() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.fill(&["ok", "bad", "stop", "next"]).await?;
    let claim = bench.take(2).await?;
    bench.complete_with(lease_of(&claim, 0), "result").await?;
    bench.fail(lease_of(&claim, 1), Retry::Permanent).await?;
    bench.cancel("stop").await?;
    site.hand("DEL", "final", &[]);

    let faults = site.mend().await?;

    assert_eq!(
        faults,
        [
            "end_state_wrong bad",
            "end_state_wrong ok",
            "end_state_wrong stop"
        ]
    );
    assert_eq!(
        bench.job("ok").await?.result.as_deref(),
        Some(&b"result"[..])
    );
    assert_eq!(bench.state("bad").await?, Some(JobState::Dead));
    assert_eq!(bench.state("stop").await?, Some(JobState::Cancelled));
    assert_eq!(site.drain().await?, ["next"]);
    Ok(())
}

#[tokio::test]
async fn an_end_that_is_on_record_is_put_in_its_place() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    for name in ["a", "b", "c"] {
        bench.kill(named(name)).await?;
    }
    site.hand("ZREM", "dead", &["a"]);
    site.hand("ZADD", "dead", &["77", "b"]);
    site.hand("HSET", "final", &["c", "nonsense"]);

    assert_eq!(
        site.mend().await?,
        [
            "end_state_wrong a",
            "end_state_wrong b",
            "end_state_wrong c"
        ]
    );

    assert_eq!(bench.in_state(JobState::Dead).await?, ["a", "b", "c"]);
    Ok(())
}

#[tokio::test]
async fn suspects_stand_among_suspects_in_their_lane() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.set("poison_after=9").await?;
    bench.fill(&["a", "b", "c"]).await?;
    for _ in 0..2 {
        bench.take(3).await?;
        bench.outlast_lease();
        bench.maintain().await?;
    }
    site.hand("ZREM", "suspects", &["a"]);
    site.hand("ZADD", "suspects", &["7", "b"]);
    site.hand("HDEL", "opts", &["c"]);
    site.set_figure(5, 0.0);
    site.set_figure(6, 0.0);

    let faults = site.mend().await?;

    for fault in [
        "entry_wrong b",
        "in_two_states c",
        "not_listed a",
        "opts_unreadable c",
    ] {
        assert!(faults.contains(&fault.to_owned()), "{fault}: {faults:?}");
    }
    let mut ids = site.drain().await?;
    ids.sort();
    assert_eq!(ids, ["a", "b", "c"]);
    Ok(())
}

#[tokio::test]
async fn expiries_are_watched_again() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    for name in ["a", "b", "c"] {
        bench
            .enqueue(named(name).expires(Due::After(secs(50))))
            .await?;
    }
    bench.fill(&["d"]).await?;
    let claim = bench.take(1).await?;
    site.hand("ZREM", "expiring", &["b"]);
    site.hand("ZADD", "expiring", &["9", "a", "9", "c", "9", "d"]);

    let faults = site.mend().await?;

    let expected = [
        "expiry_not_indexed b",
        "expiry_not_indexed c",
        "leftover a",
        "leftover d",
    ];
    assert_eq!(faults, expected);
    assert_eq!(
        bench.complete(lease_of(&claim, 0)).await?,
        windlass_core::OutcomeStatus::Completed
    );
    bench.advance(secs(51));
    assert_eq!(bench.maintain().await?.expired, 2);
    assert_eq!(site.drain().await?, ["d"]);
    Ok(())
}

#[tokio::test]
async fn unique_keys_are_held_by_live_jobs_that_asked_for_them() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    let keyed = |name: &str| named(name).unique_key(format!("k-{name}").parse().expect("a key"));
    for name in ["a", "b", "c", "d"] {
        bench.enqueue(keyed(name)).await?;
    }
    bench.cancel("d").await?;
    site.hand("HDEL", "unique", &["k-a"]);
    site.hand("HSET", "unique", &["k-b", "c", "k-d", "d"]);
    // Now c asks for the key of a.
    let opts = site
        .hand("HGET", "opts", &["c"])
        .text()
        .replace("k-c", "k-a");
    site.hand("HSET", "opts", &["c", &opts]);

    let faults = site.mend().await?;

    assert_eq!(faults.len(), 5, "{faults:?}");
    let keys = bench.snapshot().await?.unique_keys;
    assert_eq!(keys.len(), 2, "{keys:?}");
    let again = bench.enqueue(named("x").unique_key("k-b".parse()?)).await?;
    assert!(matches!(again, Enqueued::Duplicate { id: first, .. } if first == id("b")));
    assert_eq!(site.drain().await?, ["a", "b", "c"]);
    Ok(())
}

#[tokio::test]
async fn remembered_ids_agree_with_what_became_of_their_jobs() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.fill(&["gone", "kept", "live", "odd"]).await?;
    let claim = bench.take(2).await?;
    bench.complete(lease_of(&claim, 0)).await?;
    bench.complete_with(lease_of(&claim, 1), "result").await?;
    site.hand("ZREM", "forgetting", &["gone"]);
    let kept = site
        .hand("HGET", "tombstones", &["kept"])
        .text()
        .replace("succeeded", "dead");
    site.hand(
        "HSET",
        "tombstones",
        &[
            "kept",
            &kept,
            "live",
            "dead 99999999999999",
            "odd",
            "nonsense",
        ],
    );
    site.hand("ZADD", "forgetting", &["7", "nobody"]);

    let faults = site.mend().await?;

    let expected =
        ["gone", "kept", "live", "nobody", "odd"].map(|id| format!("tombstone_wrong {id}"));
    assert_eq!(faults, expected);
    let again = bench.enqueue(named("gone")).await?;
    assert!(again.is_duplicate());
    assert_eq!(site.drain().await?, ["live", "odd"]);
    Ok(())
}

#[tokio::test]
async fn jobs_whose_options_were_lost_run_as_plain_ones() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.fill(&["a", "b"]).await?;
    bench
        .enqueue(windlass_core::NewJob::new("generated"))
        .await?;
    site.hand("DEL", "opts", &[]);
    assert!(
        bench.claim(1).await.is_err(),
        "nobody knows when it was enqueued"
    );
    bench.outlast_lease();

    let faults = site.mend().await?;

    for fault in ["anchor_missing", "opts_unreadable a", "opts_unreadable b"] {
        assert!(faults.contains(&fault.to_owned()), "{fault}: {faults:?}");
    }
    assert_eq!(site.drain().await?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn options_that_cannot_be_read_are_left_out_and_the_others_kept() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.enqueue(named("a").kind("mail".parse()?)).await?;
    let opts = site.hand("HGET", "opts", &["a"]).text();
    let bad = "px\nzz\nt-1\nr1,2\nkmail\nhodd\nX\ncut";
    site.hand("HSET", "opts", &["a", &format!("{opts}{bad}")]);

    assert_eq!(site.mend().await?, ["opts_unreadable a"]);

    assert_eq!(
        bench.job("a").await?.kind.as_ref().map(ToString::to_string),
        Some("mail".to_owned())
    );
    assert_eq!(site.drain().await?, ["a"]);
    Ok(())
}

#[tokio::test]
async fn values_that_cannot_be_read_are_mended() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.fill(&["a", "b"]).await?;
    bench.enqueue(named("later").delay(secs(60))).await?;
    let claim = bench.take(2).await?;
    bench.fail(lease_of(&claim, 0), Retry::Permanent).await?;
    let errors = key("errors");
    let words: [&[u8]; 4] = [b"HSET", errors.as_bytes(), b"a", b"bad \xff!!!"];
    site.server.command(&words).ok();
    site.hand("HSET", "progress", &["b", "soon"]);
    site.hand("ZADD", "scheduled", &["1.5", "later"]);

    let faults = site.mend().await?;

    assert_eq!(
        faults,
        [
            "value_unreadable a",
            "value_unreadable b",
            "value_unreadable later"
        ]
    );
    assert_eq!(bench.job("a").await?.error.as_deref(), Some("bad ?!!!"));
    assert_eq!(site.drain().await?, ["later"]);
    Ok(())
}

#[tokio::test]
async fn a_job_whose_id_cannot_be_read_gets_one_that_can() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a"]).await?;
    site.hand("HSET", "jobs", &["bad\nid", "payload"]);
    site.hand("RPUSH", "ready:5", &["bad\nid"]);

    let faults = site.mend().await?;

    assert!(
        faults
            .iter()
            .any(|fault| fault.starts_with("id_unreadable recovered-")),
        "{faults:?}"
    );
    let ids = site.drain().await?;
    assert_eq!(ids.len(), 2);
    assert!(ids[1].starts_with("recovered-"));
    Ok(())
}
