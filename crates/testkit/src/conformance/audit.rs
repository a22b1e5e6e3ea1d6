//! Audit: the deep clean of a healthy queue finds nothing and changes nothing.

use windlass_core::{Due, Repair, Result, Retry};

use crate::bench::{Bench, boot, hold, named, numbered, secs};
use crate::whole;

async fn audit(bench: &Bench) -> Result<(u64, Vec<Repair>)> {
    whole::audit(bench.store.as_ref(), &bench.queue).await
}

pub async fn a_healthy_queue_has_nothing_to_repair(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(20)).await?;
    bench
        .enqueue(named("later").delay(secs(50)).unique_key("key".parse()?))
        .await?;
    let claim = bench.take_as(&boot("worker"), 1, 10).await?;
    bench.complete_with(hold(&claim, 0), "result").await?;
    bench.fail(hold(&claim, 1), Retry::Permanent).await?;
    bench.snooze(hold(&claim, 2), Due::After(secs(60))).await?;
    bench.cancel("j015").await?;
    bench.take(2).await?;
    bench.outlast_lease();
    bench.maintain().await?;
    bench.take(1).await?;
    let before = bench.whole().await?;

    let (checked, repairs) = audit(bench).await?;

    assert_eq!(repairs, []);
    assert_eq!(checked, before.jobs.len() as u64);
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_large_queue_is_audited_in_pages(bench: &Bench) -> Result<()> {
    bench
        .enqueue_all((0..1200).map(|n| named(&format!("{n}"))).collect())
        .await?;

    let (checked, repairs) = audit(bench).await?;

    assert_eq!((checked, repairs), (1200, vec![]));
    Ok(())
}

pub async fn a_queue_that_never_was_has_nothing_to_repair(bench: &Bench) -> Result<()> {
    assert_eq!(audit(bench).await?, (0, vec![]));
    assert_eq!(bench.dump().await?, None);
    Ok(())
}
