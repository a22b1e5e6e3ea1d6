//! The queue's stats, its entry in the registry, and keys of the wrong type.

use windlass_core::{ErrorKind, Priority, Result, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{lease_of, named, numbered, secs};

use crate::fixture::{AuditFixture, key};

/// Adds jobs in every state.
async fn fill(test: &AuditFixture) -> Result<()> {
    let fixture = &test.fixture;
    fixture.set("keep_succeeded=all").await?;
    fixture.enqueue_all(numbered(20)).await?;
    fixture
        .enqueue(named("urgent").priority(Priority::new(1)?))
        .await?;
    fixture.enqueue(named("later").delay(secs(60))).await?;
    let claim = fixture.take(5).await?;
    fixture.complete_with(lease_of(&claim, 0), "result").await?;
    fixture
        .fail(lease_of(&claim, 1), windlass_core::store::Retry::Permanent)
        .await?;
    fixture.cancel("j010").await?;
    Ok(())
}

#[tokio::test]
async fn wrong_stats_are_counted_again() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    // Stale entries, bytes, bytes of succeeded, dead and cancelled jobs, ready jobs of three priorities.
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
        test.set_stat(at, number);
    }

    assert_eq!(test.repair().await?, ["stats_wrong"]);

    let ids = test.drain().await?;
    assert_eq!((ids[0].as_str(), ids.len()), ("j004", 15));
    Ok(())
}

#[tokio::test]
async fn stats_that_are_not_valid_numbers_are_counted_again() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    for (at, number) in [
        (3, f64::NAN),
        (8, -5.0),
        (31, f64::INFINITY),
        (12, 0.5),
        (46, 0.0),
    ] {
        test.set_stat(at, number);
    }

    assert_eq!(test.repair().await?, ["stats_wrong"]);

    assert_eq!(test.drain().await?.len(), 15);
    Ok(())
}

#[tokio::test]
async fn lost_stats_are_rebuilt() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    let before = test.fixture.snapshot().await?;
    test.command("DEL", "state", &[]);

    let repairs = test.repair().await?;

    assert!(repairs.contains(&"stats_lost".to_owned()), "{repairs:?}");
    let after = test.fixture.snapshot().await?;
    assert_eq!((&after.jobs, &after.ready), (&before.jobs, &before.ready));
    assert_eq!(
        (after.stats.ready, after.stats.bytes),
        (before.stats.ready, before.stats.bytes)
    );
    assert_eq!(after.settings, before.settings);
    assert_eq!(test.drain().await?.len(), 15);
    Ok(())
}

#[tokio::test]
async fn unreadable_stats_are_rebuilt() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    test.command("HSET", "state", &["figures", "nonsense"]);
    assert!(test.fixture.claim(1).await.is_err());
    // A process that has not seen the queue before.
    let store = RedisStore::open(&test.server.url(), Options::default()).await?;
    let audited = store.audit(&test.fixture.queue, None).await?;
    assert_eq!(audited.repairs[0].code, "stats_lost");
    test.command("HSET", "state", &["figures", "nonsense"]);

    let repairs = test.repair().await?;

    assert!(repairs.contains(&"stats_lost".to_owned()), "{repairs:?}");
    assert_eq!(test.drain().await?.len(), 15);
    Ok(())
}

#[tokio::test]
async fn rules_are_rebuilt_from_the_readable_settings() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    let set = fixture.set("poison_after=3").await?;
    for lost in ["HDEL", "HSET"] {
        let rest = ["rules", "nonsense"];
        test.command(lost, "state", &rest[..if lost == "HDEL" { 1 } else { 2 }]);
        test.command("HSET", "settings", &["requeue", "sideways", "hue", "blue"]);
        assert!(fixture.store.settings(&fixture.queue).await.is_err());

        assert_eq!(test.repair().await?, ["rules_lost", "setting_unreadable"]);

        assert_eq!(fixture.store.settings(&fixture.queue).await?, set);
        assert_eq!(test.command("HSTRLEN", "state", &["rules"]).integer(), 112);
    }
    Ok(())
}

#[tokio::test]
async fn new_tokens_stay_above_all_earlier_ones() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.enqueue_all(numbered(3)).await?;
    let first = test.fixture.take(1).await?;
    test.set_stat(3, 0.0);
    test.set_stat(2, 0.0);

    assert_eq!(test.repair().await?, ["stats_wrong"]);

    let second = test.fixture.take(1).await?;
    assert!(second.token.number > first.token.number);
    Ok(())
}

#[tokio::test]
async fn anchor_fields_of_hashes_are_restored() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    for key in ["jobs", "opts", "running", "open", "claims"] {
        test.command("HDEL", key, &[""]);
    }

    assert_eq!(test.repair().await?, ["anchor_missing"]);

    assert_eq!(test.command("HSTRLEN", "claims", &[""]).integer(), 65);
    Ok(())
}

#[tokio::test]
async fn a_queue_that_is_not_listed_is_listed_again() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    test.server.command(&["DEL", "windlass:{*}:queues"]).ok();

    assert_eq!(test.repair().await?, ["queue_not_listed"]);

    assert_eq!(test.fixture.store.queues().await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_key_of_the_wrong_type_is_named_and_left_unchanged() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    for (name, kind) in [
        ("state", "hash"),
        ("leases", "zset"),
        ("ready:3", "list"),
        ("unique", "hash"),
    ] {
        let (key, backup) = (key(name), key("backup"));
        let exists = test.server.command(&["EXISTS", &key]).integer() == 1;
        if exists {
            test.server.command(&["RENAME", &key, &backup]).ok();
        }
        test.command("SET", name, &["mine"]);

        let error = test.audit().await.expect_err("the key has the wrong type");

        assert_eq!(error.kind(), ErrorKind::StoreDamaged);
        let text = error.to_string();
        assert!(
            text.contains(&key) && text.contains("string") && text.contains(kind),
            "{text}"
        );
        assert_eq!(test.server.command(&["GET", &key]).text(), "mine");
        test.server.command(&["DEL", &key]).ok();
        if exists {
            test.server.command(&["RENAME", &backup, &key]).ok();
        }
    }
    assert_eq!(test.repair().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn an_invalid_cursor_is_rejected() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.fill(&["a"]).await?;
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
        let from = Some(windlass_core::store::Cursor(bad.to_owned()));
        let error = test.fixture.store.audit(&test.fixture.queue, from).await;
        assert_eq!(error.expect_err(bad).kind(), ErrorKind::Invalid, "{bad:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_unreadable_rate_is_open() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.set("rate=1/1h").await?;
    test.fixture.fill(&["a", "b"]).await?;
    test.fixture.take(1).await?;
    test.command("HSET", "state", &["rate", "soon"]);

    assert_eq!(test.repair().await?, ["value_unreadable"]);

    assert_eq!(test.fixture.next(1).await?, ["b"]);
    Ok(())
}

#[tokio::test]
async fn limits_are_rebuilt_from_the_settings() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.set("max_running=1").await?;
    test.fixture.fill(&["a", "b"]).await?;
    test.fixture.take(1).await?;
    test.command("HDEL", "state", &["rules"]);

    assert_eq!(test.repair().await?, ["rules_lost"]);

    assert!(test.fixture.claim(1).await?.is_none());
    Ok(())
}
