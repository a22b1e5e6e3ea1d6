//! Tables of queue stats.

use std::time::Duration;

use windlass::duration;
use windlass_api::QueueReply;

use crate::commands::verb::Print;
use crate::output::Output;

impl Print for Vec<QueueReply> {
    fn print(&self, output: &mut Output) {
        if self.is_empty() {
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
            row.extend([queue.pending, queue.schedules].map(some_or_empty));
            row.push(oldest(queue));
            row.push(status(queue));
            row
        };
        let header =
            "queue ready scheduled running succeeded dead cancelled pending schedules oldest";
        let header: Vec<_> = header.split(' ').chain([""]).collect();
        output.table(&header, self.iter().map(row));
    }
}

impl Print for QueueReply {
    fn print(&self, output: &mut Output) {
        let number = |count: u64| Some(count.to_string());
        let by_priority = self.ready_by_priority.iter().enumerate();
        let by_priority: Vec<_> = by_priority
            .filter(|(_, count)| **count > 0)
            .map(|(priority, count)| format!("p{priority}: {count}"))
            .collect();
        let by_priority = (!by_priority.is_empty()).then(|| by_priority.join(", "));
        let some = |count: u64| Some(count).filter(|count| *count > 0);
        output.fields(vec![
            ("queue", Some(self.queue.clone())),
            ("paused", self.paused.then(|| "yes".to_owned())),
            (
                "resting",
                self.resting_ms
                    .map(|ms| duration::format(Duration::from_millis(ms))),
            ),
            ("ready", number(self.ready)),
            ("by priority", by_priority),
            ("oldest ready", self.oldest_ms.map(|_| oldest(self))),
            ("scheduled", number(self.scheduled)),
            ("pending", some(self.pending).and_then(number)),
            ("running", number(self.running)),
            ("succeeded", number(self.succeeded)),
            ("dead", number(self.dead)),
            ("cancelled", number(self.cancelled)),
            ("bytes", number(self.bytes)),
            ("stale entries", some(self.stale_entries).and_then(number)),
            ("schedules", some(self.schedules).and_then(number)),
            ("total enqueued", number(self.total.enqueued)),
            ("total succeeded", number(self.total.succeeded)),
            ("total dead", number(self.total.dead)),
            ("total cancelled", number(self.total.cancelled)),
            ("total rescued", number(self.total.rescued)),
            ("enqueued, last minute", number(self.last_minute.enqueued)),
            ("finished, last minute", number(self.last_minute.finished)),
        ]);
    }
}

/// A count, or nothing if it is 0: few queues have any, and a column without values is left out.
pub(super) fn some_or_empty(count: u64) -> String {
    if count == 0 {
        String::new()
    } else {
        count.to_string()
    }
}

/// Why the queue hands out no jobs.
fn status(queue: &QueueReply) -> String {
    match queue.resting_ms.map(Duration::from_millis) {
        _ if queue.paused => "paused".to_owned(),
        Some(rest) => format!("resting for {}", duration::short(rest)),
        None => String::new(),
    }
}

fn oldest(queue: &QueueReply) -> String {
    let age = queue.oldest_ms.map(Duration::from_millis);
    age.map(duration::short).unwrap_or_default()
}
