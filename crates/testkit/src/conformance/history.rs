//! History: a row per minute, from samples that claims and maintenance take.

use windlass_core::store::{HistoryRow, Retry};
use windlass_core::{Due, Result};

use crate::fixture::{Fixture, lease_of, ms, named, queue, secs};

const DAY: u32 = 24 * 60;

/// The minute of each row, relative to the current one, with a number of the row.
fn by_minute(
    fixture: &Fixture,
    rows: &[HistoryRow],
    number: fn(&HistoryRow) -> u64,
) -> Vec<(i64, u64)> {
    let now = fixture.now().as_ms() / 60_000;
    let minute = |row: &HistoryRow| (row.minute.as_ms() / 60_000).cast_signed() - now.cast_signed();
    rows.iter().map(|row| (minute(row), number(row))).collect()
}

async fn read(fixture: &Fixture, minutes: u32) -> Result<Vec<HistoryRow>> {
    fixture.store.history(&fixture.queue, minutes).await
}

/// Enqueues and claims a job.
async fn run_one(fixture: &Fixture, name: &str) -> Result<()> {
    fixture.fill(&[name]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(&claim).await.map(drop)
}

pub async fn a_row_counts_what_happened_in_its_minute(fixture: &Fixture) -> Result<()> {
    fixture
        .fill(&["good", "again", "bad", "stopped", "lost", "left"])
        .await?;
    fixture.enqueue(named("later").delay(secs(600))).await?;
    let claim = fixture.take(3).await?;
    fixture.complete(&claim).await?;
    let retry = Retry::At(Due::After(secs(600)));
    fixture.fail(lease_of(&claim, 1), retry).await?;
    fixture.fail(lease_of(&claim, 2), Retry::Permanent).await?;
    fixture.cancel("stopped").await?;
    fixture.take(1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;
    let running = fixture.take(1).await?;
    fixture.advance(secs(29));
    fixture.renew(running.token).await?;
    fixture.advance(secs(1));
    fixture.maintain().await?;
    run_one(fixture, "next").await?;

    let rows = read(fixture, 60).await?;

    let [first, second] = &rows[..] else {
        panic!("expected two rows, got {rows:?}");
    };
    let counts = first.counts;
    assert_eq!(
        (counts.enqueued, counts.succeeded, counts.failed),
        (7, 1, 2)
    );
    assert_eq!((counts.dead, counts.cancelled, counts.rescued), (1, 1, 1));
    let levels = first.levels;
    assert_eq!((levels.ready, levels.scheduled), (1, 2));
    assert_eq!((levels.running, levels.dead), (1, 1));
    assert_eq!((second.counts.enqueued, second.counts.succeeded), (1, 1));
    assert_eq!(second.minute.since(first.minute), secs(60));
    Ok(())
}

pub async fn the_row_of_the_current_minute_is_up_to_date(fixture: &Fixture) -> Result<()> {
    run_one(fixture, "a").await?;
    fixture.fill(&["b", "c"]).await?;

    let rows = read(fixture, 1).await?;

    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].counts.enqueued, rows[0].levels.ready), (3, 2));
    assert_eq!(rows[0].minute, fixture.now());
    Ok(())
}

pub async fn each_second_notes_how_long_one_job_waited(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c", "d"]).await?;
    fixture.enqueue(named("e").delay(ms(1500))).await?;
    fixture.maintain().await?;
    fixture.advance(ms(1040));
    fixture.take(1).await?;
    fixture.advance(ms(400));
    fixture.take(2).await?;
    // Claims that hand out nothing, and maintenance, note nothing.
    fixture.advance(ms(60));
    fixture.maintain().await?;
    fixture.advance(ms(600));
    fixture.take(2).await?;
    fixture.advance(secs(1));
    fixture.claim(1).await?;

    let rows = read(fixture, 1).await?;

    let buckets: Vec<_> = rows[0].waits.buckets().collect();
    assert_eq!(buckets, [(2_000, 1), (5_000, 1)]);
    assert_eq!(rows[0].waits.percentile(50), Some(secs(2)));
    assert_eq!(rows[0].waits.max(), Some(secs(5)));
    Ok(())
}

pub async fn a_wait_begins_when_the_job_is_due(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(30))).await?;
    fixture.advance(secs(30) + ms(7));

    fixture.take(1).await?;

    let rows = read(fixture, 1).await?;
    assert_eq!(rows[0].waits.buckets().collect::<Vec<_>>(), [(10, 1)]);
    Ok(())
}

pub async fn maintenance_opens_a_row_for_each_minute(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    for _ in 0..3 {
        fixture.maintain().await?;
        fixture.advance(secs(60));
    }
    fixture.fill(&["b"]).await?;

    let rows = read(fixture, 60).await?;

    let enqueued = by_minute(fixture, &rows, |row| row.counts.enqueued);
    assert_eq!(enqueued, [(-3, 1), (-2, 0), (-1, 1)]);
    let ready = by_minute(fixture, &rows, |row| row.levels.ready);
    assert_eq!(ready, [(-3, 1), (-2, 1), (-1, 2)]);
    Ok(())
}

pub async fn a_history_has_the_rows_of_the_last_day_at_most(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    for _ in 0..DAY + 5 {
        fixture.maintain().await?;
        fixture.advance(secs(60));
    }
    fixture.maintain().await?;

    let rows = read(fixture, u32::MAX).await?;

    let minutes = by_minute(fixture, &rows, |row| row.counts.enqueued);
    assert_eq!(minutes.len(), DAY as usize);
    assert_eq!(
        (minutes[0], minutes[minutes.len() - 1]),
        ((1 - i64::from(DAY), 0), (0, 0))
    );
    assert_eq!(read(fixture, 0).await?.len(), 1);
    assert_eq!(read(fixture, 3).await?, rows[rows.len() - 3..]);
    fixture.advance(secs(3600 * 24 * 40));
    assert_eq!(read(fixture, DAY).await?, []);
    Ok(())
}

pub async fn a_clock_set_back_writes_no_row_twice(fixture: &Fixture) -> Result<()> {
    for name in ["a", "b", "c"] {
        run_one(fixture, name).await?;
        fixture.advance(secs(60));
    }
    fixture.clock.step_back(secs(2 * 60));
    for name in ["d", "e"] {
        run_one(fixture, name).await?;
        fixture.advance(secs(60));
    }
    fixture.maintain().await?;

    let rows = read(fixture, 60).await?;

    // The row of the last minute before goes on as that of the current one; rows of minutes to come are dropped.
    let succeeded = by_minute(fixture, &rows, |row| row.counts.succeeded);
    assert_eq!(succeeded, [(-3, 1), (-2, 2), (-1, 1), (0, 0)]);
    Ok(())
}

pub async fn a_small_step_back_changes_no_row(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.maintain().await?;
    fixture.advance(secs(60));
    fixture.maintain().await?;
    let before = read(fixture, 60).await?;

    fixture.clock.step_back(secs(4));
    fixture.maintain().await?;

    assert_eq!(read(fixture, 60).await?, before);
    assert_eq!(before.len(), 2);
    Ok(())
}

pub async fn a_deleted_queue_has_no_history(fixture: &Fixture) -> Result<()> {
    run_one(fixture, "a").await?;
    fixture.advance(secs(60));
    fixture.maintain().await?;

    fixture.store.delete_queue(&fixture.queue).await?;
    assert_eq!(read(fixture, 60).await?, []);

    fixture.fill(&["b"]).await?;
    fixture.maintain().await?;
    let rows = read(fixture, 60).await?;
    assert_eq!(
        by_minute(fixture, &rows, |row| row.counts.enqueued),
        [(0, 1)]
    );
    Ok(())
}

pub async fn reading_the_history_changes_nothing(fixture: &Fixture) -> Result<()> {
    run_one(fixture, "a").await?;
    fixture.advance(secs(60));
    let before = fixture.snapshot().await?;

    let rows = read(fixture, 60).await?;

    assert_eq!(fixture.snapshot().await?, before);
    assert_eq!(rows, before.history);
    assert_eq!(rows.len(), 1);
    let missing = queue("missing");
    assert_eq!(fixture.store.history(&missing, 60).await?, []);
    assert!(!fixture.store.queues().await?.contains(&missing));
    Ok(())
}
