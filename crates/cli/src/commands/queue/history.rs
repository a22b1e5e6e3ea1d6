//! The table of a queue's history, below a line with its course.

use std::time::Duration;

use windlass::duration;
use windlass_api::HistoryRowReply;
use windlass_api::request::HistoryReply;

use super::show::some_or_empty;
use crate::commands::verb::Print;
use crate::output::Output;

/// The heights of a course, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most minutes that a course shows, so that it fits a terminal.
const COURSE_MAX: usize = 60;

impl Print for HistoryReply {
    fn print(&self, output: &mut Output) {
        if self.rows.is_empty() {
            output.note("no history yet: a row is kept for each minute with claims or maintenance");
            return;
        }
        let latest = &self.rows[self.rows.len().saturating_sub(COURSE_MAX)..];
        let course = |number: fn(&HistoryRowReply) -> u64| {
            let numbers: Vec<_> = latest.iter().map(number).collect();
            Some(course(&numbers))
        };
        output.fields(vec![
            ("enqueued", course(|row| row.enqueued)),
            ("succeeded", course(|row| row.succeeded)),
            ("ready", course(|row| row.ready)),
        ]);
        output.line("");
        let header = "minute enqueued succeeded ready running p50 p99 scheduled failed dead cancelled rescued";
        let header: Vec<_> = header.split(' ').collect();
        output.table(&header, self.rows.iter().map(table_row));
    }
}

fn table_row(row: &HistoryRowReply) -> Vec<String> {
    // The day, hour and minute of the RFC 3339 text.
    let minute = row
        .minute
        .get(..16)
        .unwrap_or(&row.minute)
        .replace('T', " ");
    let counts = [row.enqueued, row.succeeded, row.ready, row.running];
    let wait = |ms: Option<u64>| {
        let wait = ms.map(Duration::from_millis);
        wait.map(duration::short).unwrap_or_default()
    };
    let rare = [
        row.scheduled,
        row.failed,
        row.dead,
        row.cancelled,
        row.rescued,
    ];
    let mut cells = vec![minute];
    cells.extend(counts.map(|count| count.to_string()));
    cells.extend([wait(row.wait_p50_ms), wait(row.wait_p99_ms)]);
    cells.extend(rare.map(some_or_empty));
    cells
}

/// One bar per minute, and the highest number.
fn course(numbers: &[u64]) -> String {
    let most = numbers.iter().copied().max().unwrap_or_default();
    let bar = |number: &u64| {
        let height = u128::from(*number) * 7 / u128::from(most.max(1));
        BARS[usize::try_from(height).unwrap_or_default().min(7)]
    };
    format!(
        "{}  max {most}",
        numbers.iter().map(bar).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_relative_to_its_highest_number() {
        assert_eq!(course(&[0, 50, 100]), "▁▄█  max 100");
        assert_eq!(course(&[0, 0]), "▁▁  max 0");
        assert_eq!(course(&[u64::MAX]), format!("█  max {}", u64::MAX));
    }
}
