//! Tombstones of ids and unique keys that are wrong.

use windlass_core::store::OnDuplicate;
use windlass_core::{Enqueued, Result};
use windlass_testkit::fixture::{lease_of, named};

use crate::fixture::AuditFixture;

#[tokio::test]
async fn remembered_ids_agree_with_the_states_of_their_jobs() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.fill(&["gone", "kept", "live", "odd"]).await?;
    let claim = fixture.take(2).await?;
    fixture.complete(lease_of(&claim, 0)).await?;
    fixture.complete_with(lease_of(&claim, 1), "result").await?;
    test.command("ZREM", "forgetting", &["gone"]);
    let kept = test
        .command("HGET", "tombstones", &["kept"])
        .text()
        .replace("succeeded", "dead");
    test.command(
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
    test.command("ZADD", "forgetting", &["7", "nobody"]);

    let repairs = test.repair().await?;

    let expected =
        ["gone", "kept", "live", "nobody", "odd"].map(|id| format!("tombstone_wrong {id}"));
    assert_eq!(repairs, expected);
    let again = fixture.enqueue(named("gone")).await?;
    assert!(again.is_duplicate());
    assert_eq!(test.drain().await?, ["live", "odd"]);
    Ok(())
}

#[tokio::test]
async fn held_keys_and_amendments_that_are_wrong_are_dropped() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    let keyed = |name, key: &str| Ok(named(name).unique_key(key.parse()?));
    fixture.enqueue(keyed("a", "live")?).await?;
    let replacing = keyed("b", "live")?.on_duplicate(OnDuplicate::Replace);
    fixture.enqueue(replacing.clone()).await?;
    let until = "99999999999999";
    let wrong = [
        ("\u{1}live", format!("dead {until} =x")),
        ("\u{1}other", format!("ready {until} =x")),
        ("\u{1}none", format!("dead {until}")),
        ("\u{1}", format!("dead {until} =x")),
        ("a", format!("ready {until} ~x")),
        ("c", format!("dead {until} ~x")),
        ("d", format!("ready {until} =x")),
        ("e", format!("ready {until} ~")),
    ];
    for (name, text) in &wrong {
        test.command("HSET", "tombstones", &[name, text]);
        test.command("ZADD", "forgetting", &[until, name]);
    }
    test.command(
        "HSET",
        "tombstones",
        &["\u{1}held", &format!("dead {until} =x")],
    );

    let repairs = test.repair().await?;

    let expected = ["", " a", " c", " d", " e"].map(|id| format!("tombstone_wrong{id}"));
    assert_eq!(repairs, expected);
    assert!(fixture.enqueue(keyed("f", "held")?).await?.is_duplicate());
    assert!(fixture.enqueue(keyed("f", "other")?).await?.is_accepted());
    let again = fixture.enqueue(replacing).await?;
    assert!(matches!(again, Enqueued::Replaced { .. }));
    assert_eq!(fixture.job("a").await?.payload.as_deref(), Some(&b"b"[..]));
    Ok(())
}
