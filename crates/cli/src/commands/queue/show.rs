//! Tables of queue stats.

use std::time::Duration;

use windlass::duration;
use windlass_api::QueueReply;

use crate::output::Output;

/// Prints all queues, one per line.
pub(super) fn list(output: &mut Output, queues: &[QueueReply]) {
    if queues.is_empty() {
        output.note("no queues");
    }
    let row = |queue: &QueueReply| {
        let counts = [
            queue.ready,
            queue.scheduled,
            queue.running,
            queue.succeeded,
            queue.dead,
            queue.cancelled,
        ];
        let mut row = vec![queue.queue.clone()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(oldest(queue));
        row.push(if queue.paused { "paused" } else { "" }.to_owned());
        row
    };
    let header = [
        "queue",
        "ready",
        "scheduled",
        "running",
        "succeeded",
        "dead",
        "cancelled",
        "oldest",
        "",
    ];
    output.table(&header, queues.iter().map(row).collect());
}

/// Prints one queue, one stat per line.
pub(super) fn one(output: &mut Output, queue: &QueueReply) {
    let number = |count: u64| Some(count.to_string());
    let by_priority = queue.ready_by_priority.iter().enumerate();
    let by_priority: Vec<_> = by_priority
        .filter(|(_, count)| **count > 0)
        .map(|(priority, count)| format!("p{priority}: {count}"))
        .collect();
    output.fields(vec![
        ("queue", Some(queue.queue.clone())),
        ("paused", queue.paused.then(|| "yes".to_owned())),
        ("ready", number(queue.ready)),
        (
            "by priority",
            (!by_priority.is_empty()).then(|| by_priority.join(", ")),
        ),
        ("oldest ready", queue.oldest_ms.map(|_| oldest(queue))),
        ("scheduled", number(queue.scheduled)),
        ("running", number(queue.running)),
        ("succeeded", number(queue.succeeded)),
        ("dead", number(queue.dead)),
        ("cancelled", number(queue.cancelled)),
        ("bytes", number(queue.bytes)),
        (
            "stale entries",
            (queue.stale_entries > 0).then(|| queue.stale_entries.to_string()),
        ),
        ("total enqueued", number(queue.total.enqueued)),
        ("total succeeded", number(queue.total.succeeded)),
        ("total dead", number(queue.total.dead)),
        ("total cancelled", number(queue.total.cancelled)),
        ("total rescued", number(queue.total.rescued)),
        (
            "enqueued, last full minute",
            number(queue.last_minute.enqueued),
        ),
        (
            "finished, last full minute",
            number(queue.last_minute.finished),
        ),
    ]);
}

fn oldest(queue: &QueueReply) -> String {
    let age = queue.oldest_ms.map(Duration::from_millis);
    age.map(duration::format).unwrap_or_default()
}
