//! Charts of the last hour and the last day: throughput and waits, of one queue or of all.

use std::sync::Arc;

use askama::Template;
use futures_util::{StreamExt, stream};
use tokio::time::Duration;
use windlass_api::request::History;
use windlass_api::{Reply, Request};
use windlass_core::QueueName;
use windlass_core::store::{Clock, Histogram, HistoryRow, SystemClock};
use windlass_core::time::as_ms;

use super::PageRequest;
use super::chart::{Lines, Series, Unit};
use super::layout::Html;
use crate::error::HttpError;
use crate::handlers::dispatch;
use crate::state::AppState;

const MINUTE_MS: u64 = 60_000;

/// How many queues are read at the same time.
const READS_MAX: usize = 16;

/// A span of time, divided into points of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    name: &'static str,
    minutes: u32,
    /// Minutes per point.
    step: u32,
    /// How long it is shown before it is read again.
    valid_for: Duration,
}

const RANGES: [Range; 2] = [
    Range {
        name: "hour",
        minutes: 60,
        step: 1,
        valid_for: Duration::from_secs(5),
    },
    Range {
        name: "day",
        minutes: 1440,
        step: 15,
        valid_for: Duration::from_secs(60),
    },
];

/// What happened in the time of one point.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Point {
    added: u64,
    done: u64,
    failed: u64,
    waits: Histogram,
}

#[derive(Template)]
#[template(path = "history.html")]
pub(super) struct Charts {
    /// The name of each range, its address, and whether it is shown.
    ranges: Vec<(&'static str, String, bool)>,
    charts: Option<[Html; 2]>,
}

/// Draws the charts of queues.
pub(super) async fn charts(
    request: &PageRequest,
    queues: Vec<QueueName>,
) -> Result<Charts, HttpError> {
    let wanted = request.query("range");
    let range = RANGES
        .iter()
        .find(|range| wanted.as_deref() == Some(range.name));
    let range = *range.unwrap_or(&RANGES[0]);
    let key = format!("{} {} {:?}", range.name, request.path, request.caller.grant);
    let read = read(Arc::clone(&request.state), queues, range);
    let points = request.state.history.get(key, range.valid_for, read).await;
    let charts = points.map(|points| draw(&points, range)).transpose()?;
    let link = |each: &Range| {
        let address = request.with("range", each.name);
        (each.name, address, *each == range)
    };
    Ok(Charts {
        ranges: RANGES.iter().map(link).collect(),
        charts,
    })
}

/// Reads the history of queues and adds it up. A queue that cannot be read is left out.
async fn read(state: Arc<AppState>, queues: Vec<QueueName>, range: Range) -> Vec<Point> {
    let now_ms = SystemClock.now_us() / 1000;
    let now = now_ms / MINUTE_MS;
    let mut points = vec![Point::default(); (range.minutes / range.step) as usize];
    let state = &state;
    let mut reads = stream::iter(queues)
        .map(|queue| async move {
            let minutes = Some(range.minutes);
            let op = Request::History(History { minutes });
            match dispatch(state, Some(&queue), op).await {
                Ok(Reply::History(reply)) => reply.rows,
                _ => Vec::new(),
            }
        })
        .buffer_unordered(READS_MAX);
    while let Some(rows) = reads.next().await {
        for row in rows.into_iter().filter_map(|row| row.into_row().ok()) {
            add(&mut points, range, now, &row);
        }
    }
    complete(&mut points, range, MINUTE_MS - now_ms % MINUTE_MS);
    points
}

/// Completes the last point, whose last minute has `left_ms` to go, with that share of the point before. Otherwise
/// every chart would end with a fall.
fn complete(points: &mut [Point], range: Range, left_ms: u64) {
    if let [.., before, last] = points {
        let share = |count: u64| count * left_ms / MINUTE_MS / u64::from(range.step);
        last.added += share(before.added);
        last.done += share(before.done);
        last.failed += share(before.failed);
    }
}

/// Adds a minute to the point that it belongs to. The last point ends with the current minute.
fn add(points: &mut [Point], range: Range, now: u64, row: &HistoryRow) {
    let age = now.saturating_sub(row.minute.as_ms() / MINUTE_MS) / u64::from(range.step);
    let at = usize::try_from(age)
        .ok()
        .and_then(|age| points.len().checked_sub(age + 1));
    if let Some(point) = at.and_then(|at| points.get_mut(at)) {
        point.added += row.counts.enqueued;
        point.done += row.counts.succeeded;
        point.failed += row.counts.failed;
        point.waits.add(&row.waits);
    }
}

fn draw(points: &[Point], range: Range) -> Result<[Html; 2], HttpError> {
    let per_minute = |part: fn(&Point) -> u64| -> Vec<Option<u64>> {
        let values = points.iter();
        values
            .map(|point| Some(part(point).div_ceil(u64::from(range.step))))
            .collect()
    };
    let wait = |percent| -> Vec<Option<u64>> {
        points
            .iter()
            .map(|point| point.waits.percentile(percent).map(as_ms))
            .collect()
    };
    let times = if range.minutes > 60 {
        ["24 h ago", "18 h", "12 h", "6 h", "now"]
    } else {
        ["60 min ago", "45 min", "30 min", "15 min", "now"]
    };
    let times = || times.map(str::to_owned).to_vec();
    let series = |name, class, values| Series {
        name,
        class,
        values,
    };
    let throughput = [
        series("In", "c1", per_minute(|point| point.added)),
        series("Out", "c2", per_minute(|point| point.done)),
        series("Failed attempts", "c3", per_minute(|point| point.failed)),
    ];
    let waits = [series("p50", "c1", wait(50)), series("p99", "c4", wait(99))];
    Ok([
        Html::render(&Lines::new(
            "Throughput",
            Unit::PerMinute,
            &throughput,
            times(),
        ))?,
        Html::render(&Lines::new(
            "Wait until claimed",
            Unit::Milliseconds,
            &waits,
            times(),
        ))?,
    ])
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;
    use windlass_core::store::{HistoryCounts, HistoryLevels};

    use super::*;

    #[test]
    fn the_last_point_ends_with_the_current_minute() {
        let row = |minute| HistoryRow {
            minute: Timestamp::from_ms(minute * MINUTE_MS),
            counts: HistoryCounts {
                enqueued: 1,
                ..HistoryCounts::default()
            },
            levels: HistoryLevels::default(),
            waits: Histogram::default(),
        };
        let now = 10_000;
        for (range, minute, at) in [
            (RANGES[0], now, Some(59)),
            (RANGES[0], now - 59, Some(0)),
            (RANGES[0], now - 60, None),
            (RANGES[0], now + 5, Some(59)),
            (RANGES[1], now - 14, Some(95)),
            (RANGES[1], now - 15, Some(94)),
            (RANGES[1], now - 1440, None),
        ] {
            let mut points = vec![Point::default(); (range.minutes / range.step) as usize];
            add(&mut points, range, now, &row(minute));
            let found = points.iter().position(|point| point.added == 1);
            assert_eq!(found, at, "{minute}");
        }
    }

    #[test]
    fn the_last_point_stands_for_a_whole_minute() {
        let point = |added| Point {
            added,
            ..Point::default()
        };
        let mut points = [point(7), point(60), point(15)];
        complete(&mut points, RANGES[0], 45_000);
        assert_eq!(points.map(|point| point.added), [7, 60, 60]);
    }
}
