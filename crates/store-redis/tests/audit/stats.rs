//! The queue's own numbers, its place in the registry, and keys that hold something else.

use windlass_core::{ErrorKind, Priority, Result, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{lease_of, named, numbered, secs};

use crate::fixture::{Site, key};

/// Some of everything.
async fn fill(site: &Site) -> Result<()> {
    let bench = &site.bench;
    bench.set("keep_succeeded=all").await?;
    bench.enqueue_all(numbered(20)).await?;
    bench
        .enqueue(named("urgent").priority(Priority::new(1)?))
        .await?;
    bench.enqueue(named("later").delay(secs(60))).await?;
    let claim = bench.take(5).await?;
    bench.complete_with(lease_of(&claim, 0), "result").await?;
    bench
        .fail(lease_of(&claim, 1), windlass_core::Retry::Permanent)
        .await?;
    bench.cancel("j010").await?;
    Ok(())
}

#[tokio::test]
async fn figures_that_are_wrong_are_counted_again() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    // Ghosts, bytes, bytes of succeeded, dead and cancelled jobs, ready jobs of three priorities.
    for (at, number) in [
        (7, 9.0),
        (8, 1.0),
        (9, 0.0),
        (10, 77.0),
        (11, 3.0),
        (26, 4.0),
        (27, 0.0),
        (31, 99.0),
    ] {
        site.set_figure(at, number);
    }

    assert_eq!(site.mend().await?, ["stats_wrong"]);

    let ids = site.drain().await?;
    assert_eq!((ids[0].as_str(), ids.len()), ("j004", 15));
    Ok(())
}

#[tokio::test]
async fn figures_that_are_no_numbers_are_counted_again() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    for (at, number) in [
        (3, f64::NAN),
        (8, -5.0),
        (31, f64::INFINITY),
        (12, 0.5),
        (46, 0.0),
    ] {
        site.set_figure(at, number);
    }

    assert_eq!(site.mend().await?, ["stats_wrong"]);

    assert_eq!(site.drain().await?.len(), 15);
    Ok(())
}

#[tokio::test]
async fn a_queue_whose_figures_were_lost_is_made_whole() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    let before = site.bench.snapshot().await?;
    site.hand("DEL", "state", &[]);

    let faults = site.mend().await?;

    assert!(faults.contains(&"stats_lost".to_owned()), "{faults:?}");
    let after = site.bench.snapshot().await?;
    assert_eq!((&after.jobs, &after.ready), (&before.jobs, &before.ready));
    assert_eq!(
        (after.stats.ready, after.stats.bytes),
        (before.stats.ready, before.stats.bytes)
    );
    assert_eq!(after.settings, before.settings);
    assert_eq!(site.drain().await?.len(), 15);
    Ok(())
}

#[tokio::test]
async fn figures_that_cannot_be_read_are_made_anew() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    site.hand("HSET", "state", &["figures", "nonsense"]);
    assert!(site.bench.claim(1).await.is_err());
    // A process that has not seen the queue before.
    let store = RedisStore::open(&site.server.url(), Options::default()).await?;
    let audited = store.audit(&site.bench.queue, None).await?;
    assert_eq!(audited.repairs[0].code, "stats_lost");
    site.hand("HSET", "state", &["figures", "nonsense"]);

    let faults = site.mend().await?;

    assert!(faults.contains(&"stats_lost".to_owned()), "{faults:?}");
    assert_eq!(site.drain().await?.len(), 15);
    Ok(())
}

#[tokio::test]
async fn rules_follow_the_settings_that_can_be_read() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    let set = bench.set("poison_after=3").await?;
    for lost in ["HDEL", "HSET"] {
        let rest = ["rules", "nonsense"];
        site.hand(lost, "state", &rest[..if lost == "HDEL" { 1 } else { 2 }]);
        site.hand("HSET", "settings", &["requeue", "sideways", "hue", "blue"]);
        assert!(bench.store.settings(&bench.queue).await.is_err());

        assert_eq!(site.mend().await?, ["rules_lost", "setting_unreadable"]);

        assert_eq!(bench.store.settings(&bench.queue).await?, set);
        assert_eq!(site.hand("HSTRLEN", "state", &["rules"]).integer(), 112);
    }
    Ok(())
}

#[tokio::test]
async fn tokens_stay_above_all_that_were_given_out() -> Result<()> {
    let site = Site::open().await;
    site.bench.enqueue_all(numbered(3)).await?;
    let first = site.bench.take(1).await?;
    site.set_figure(3, 0.0);
    site.set_figure(2, 0.0);

    assert_eq!(site.mend().await?, ["stats_wrong"]);

    let second = site.bench.take(1).await?;
    assert!(second.token.number > first.token.number);
    Ok(())
}

#[tokio::test]
async fn fields_that_keep_hashes_fast_are_put_back() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    for key in ["jobs", "opts", "running", "open", "claims"] {
        site.hand("HDEL", key, &[""]);
    }

    assert_eq!(site.mend().await?, ["anchor_missing"]);

    assert_eq!(site.hand("HSTRLEN", "claims", &[""]).integer(), 65);
    Ok(())
}

#[tokio::test]
async fn a_queue_that_is_not_listed_is_listed_again() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    site.server.command(&["DEL", "windlass:{*}:queues"]).ok();

    assert_eq!(site.mend().await?, ["queue_not_listed"]);

    assert_eq!(site.bench.store.queues().await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_key_that_holds_something_else_is_named_and_left_alone() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    for (name, kind) in [
        ("state", "hash"),
        ("leases", "zset"),
        ("ready:3", "list"),
        ("unique", "hash"),
    ] {
        let (key, aside) = (key(name), key("aside"));
        let is_there = site.server.command(&["EXISTS", &key]).integer() == 1;
        if is_there {
            site.server.command(&["RENAME", &key, &aside]).ok();
        }
        site.hand("SET", name, &["mine"]);

        let error = site.audit().await.expect_err("the key is in the way");

        assert_eq!(error.kind(), ErrorKind::StoreDamaged);
        let text = error.to_string();
        assert!(
            text.contains(&key) && text.contains("string") && text.contains(kind),
            "{text}"
        );
        assert_eq!(site.server.command(&["GET", &key]).text(), "mine");
        site.server.command(&["DEL", &key]).ok();
        if is_there {
            site.server.command(&["RENAME", &aside, &key]).ok();
        }
    }
    assert_eq!(site.mend().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() -> Result<()> {
    let site = Site::open().await;
    site.bench.fill(&["a"]).await?;
    for bad in [
        "",
        "x",
        "0",
        "0,jobs",
        "0,jobs,x",
        "0,nothing,0",
        "9,jobs,0",
        "0,jobs,-1",
        "-1,ready_lists,0",
    ] {
        let from = Some(windlass_core::Cursor(bad.to_owned()));
        let error = site.bench.store.audit(&site.bench.queue, from).await;
        assert_eq!(error.expect_err(bad).kind(), ErrorKind::Invalid, "{bad:?}");
    }
    Ok(())
}
