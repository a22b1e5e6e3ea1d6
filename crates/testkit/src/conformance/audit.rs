//! Audit: in a healthy queue it finds nothing and changes nothing.

use windlass_core::store::{Repair, Retry};
use windlass_core::{Due, Result};

use crate::fixture::{Fixture, boot, lease_of, named, numbered, secs};
use crate::paging;

async fn audit(fixture: &Fixture) -> Result<(u64, Vec<Repair>)> {
    paging::audit(fixture.store.as_ref(), &fixture.queue).await
}

pub async fn a_healthy_queue_has_nothing_to_repair(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_all(numbered(20)).await?;
    fixture
        .enqueue(named("later").delay(secs(50)).unique_key("key".parse()?))
        .await?;
    let claim = fixture.take_as(&boot("worker"), 1, 10).await?;
    fixture.complete_with(&claim, "result").await?;
    fixture.fail(lease_of(&claim, 1), Retry::Permanent).await?;
    fixture
        .snooze(lease_of(&claim, 2), Due::After(secs(60)))
        .await?;
    fixture.cancel("j015").await?;
    fixture.take(2).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;
    fixture.take(1).await?;
    let before = fixture.snapshot().await?;

    let (checked, repairs) = audit(fixture).await?;

    assert_eq!(repairs, []);
    assert_eq!(checked, before.jobs.len() as u64);
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_large_queue_is_audited_in_pages(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue_all((0..1200).map(|n| named(&format!("{n}"))).collect())
        .await?;

    let (checked, repairs) = audit(fixture).await?;

    assert_eq!((checked, repairs), (1200, vec![]));
    Ok(())
}

pub async fn a_missing_queue_has_nothing_to_repair(fixture: &Fixture) -> Result<()> {
    assert_eq!(audit(fixture).await?, (0, vec![]));
    assert_eq!(fixture.dump().await?, None);
    Ok(())
}
