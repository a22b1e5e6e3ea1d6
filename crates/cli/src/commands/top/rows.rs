//! The tables of `top`: columns, and rows of text.

use std::time::Duration;

use windlass::duration;
use windlass::store::{Clock, SystemClock};
use windlass_api::{JobReply, WorkerReply, timestamp};

use super::model::{Detail, Model, Page, QueueNumbers, Snapshot};
use crate::output::escape;

/// A column: its header, its width (0: the rest), and the width of the screen from which it is shown.
pub(super) type Column = (&'static str, u16, u16);

const QUEUES: &[Column] = &[
    ("QUEUE", 0, 0),
    ("READY", 7, 0),
    ("SCHED", 7, 52),
    ("RUNNING", 7, 30),
    ("DEAD", 7, 36),
    ("IN/S", 7, 60),
    ("OUT/S", 7, 60),
    ("OLDEST", 6, 68),
    ("WORKERS", 7, 76),
];

const WORKERS: &[Column] = &[
    ("WORKER", 16, 0),
    ("STATE", 8, 0),
    ("HOST", 0, 40),
    ("PID", 8, 60),
    ("RUNNING", 7, 50),
    ("SEEN", 6, 32),
];

const FAILURES: &[Column] = &[
    ("FAILED", 6, 0),
    ("QUEUE", 12, 44),
    ("ID", 26, 72),
    ("KIND", 12, 100),
    ("ATTEMPT", 7, 58),
    ("ERROR", 0, 0),
];

const JOBS: &[Column] = &[
    ("ID", 26, 0),
    ("KIND", 12, 50),
    ("ATTEMPT", 7, 36),
    ("DUE", 24, 100),
    ("WORKER", 16, 130),
    ("ERROR", 0, 64),
];

/// How a row is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Warning,
    Bad,
}

#[derive(Debug)]
pub(super) struct Row {
    /// Identifies the row when others come and go.
    pub(super) key: String,
    /// What keys apply to: a queue, or a job of it.
    pub(super) target: Option<(String, Option<String>)>,
    /// One per column.
    pub(super) cells: Vec<String>,
    pub(super) tone: Tone,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: &'static [Column],
    pub(super) rows: Vec<Row>,
    /// What to show without rows.
    pub(super) empty: &'static str,
}

impl Table {
    pub(super) fn header(&self) -> Vec<&'static str> {
        self.columns.iter().map(|(name, ..)| *name).collect()
    }

    pub(super) fn cells(&self) -> Vec<Vec<String>> {
        self.rows.iter().map(|row| row.cells.clone()).collect()
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.key.clone()).collect()
    }

    fn new<T>(
        columns: &'static [Column],
        empty: &'static str,
        items: &[T],
        row: impl Fn(&T) -> Row,
    ) -> Self {
        let mut rows: Vec<_> = items.iter().map(row).collect();
        for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
            *cell = escape(cell);
        }
        Self {
            columns,
            rows,
            empty,
        }
    }

    fn filtered(mut self, filter: &str) -> Self {
        let filter = filter.to_lowercase();
        let matches = |row: &Row| {
            row.cells
                .iter()
                .any(|cell| cell.to_lowercase().contains(&filter))
        };
        self.rows.retain(matches);
        self
    }
}

/// The tables of the overview, without a filter.
pub(super) fn tables(snapshot: &Snapshot) -> [Table; 3] {
    [
        Table::new(QUEUES, "no queues", &snapshot.queues, queue),
        Table::new(WORKERS, "no workers", &snapshot.workers, worker),
        Table::new(FAILURES, "no failed jobs", &snapshot.failures, failure),
    ]
}

/// The tables of the page that is shown.
pub(super) fn shown(model: &Model) -> Vec<Table> {
    let tables = match (&model.page, &model.detail) {
        (Page::Overview, _) => Vec::from(tables(&model.snapshot)),
        (Page::Jobs(..), Detail::Jobs(jobs, _)) => {
            vec![Table::new(JOBS, "no jobs in this state", jobs, job)]
        }
        (Page::Jobs(..), _) => vec![Table::new(JOBS, "reading…", &[], job)],
        (Page::Job(..), _) => Vec::new(),
    };
    let filtered = tables
        .into_iter()
        .map(|table| table.filtered(&model.filter));
    filtered.collect()
}

/// The table whose rows can be selected.
pub(super) fn selectable(model: &Model) -> Option<Table> {
    let panel = match model.page {
        Page::Overview => model.panel as usize,
        _ => 0,
    };
    shown(model).into_iter().nth(panel)
}

/// The selected row.
pub(super) fn selected(model: &Model) -> Option<Row> {
    let key = &model.selections[model.selection()].key;
    let mut rows = selectable(model)?.rows.into_iter();
    rows.find(|row| row.key == *key)
}

fn queue(it: &QueueNumbers) -> Row {
    let queue = &it.queue;
    let name = queue.queue.clone();
    let oldest = queue.oldest_ms.map(age).unwrap_or_default();
    Row {
        cells: vec![
            match (queue.paused, queue.resting_ms) {
                (true, _) => format!("{name} (paused)"),
                (false, Some(ms)) => format!("{name} (resting {})", age(ms)),
                (false, None) => name.clone(),
            },
            number(queue.ready),
            number(queue.scheduled),
            number(queue.running),
            number(queue.dead),
            rate(it.in_per_second),
            rate(it.out_per_second),
            oldest,
            number(it.workers as u64),
        ],
        target: Some((name.clone(), None)),
        key: name,
        tone: match (queue.dead, queue.paused || queue.resting_ms.is_some()) {
            (1.., _) => Tone::Bad,
            (0, true) => Tone::Warning,
            (0, false) => Tone::Plain,
        },
    }
}

fn worker(it: &WorkerReply) -> Row {
    Row {
        key: it.id.clone(),
        target: None,
        cells: vec![
            it.id.clone(),
            it.state.to_owned(),
            it.host.clone(),
            it.pid.to_string(),
            it.running.len().to_string(),
            age(it.last_seen_ms),
        ],
        tone: match it.state {
            "idle" | "busy" => Tone::Plain,
            "lost" => Tone::Bad,
            _ => Tone::Warning,
        },
    }
}

fn failure(it: &JobReply) -> Row {
    let is_dead = it.state == "dead";
    Row {
        key: format!("{}/{}", it.queue, it.id),
        target: Some((it.queue.clone(), Some(it.id.clone()))),
        cells: vec![
            failed_since(it),
            it.queue.clone(),
            it.id.clone(),
            it.kind.clone().unwrap_or_default(),
            format!("{}/{}", it.attempt, it.max_attempts),
            error(it),
        ],
        tone: if is_dead { Tone::Bad } else { Tone::Warning },
    }
}

fn job(it: &JobReply) -> Row {
    Row {
        key: it.id.clone(),
        target: Some((it.queue.clone(), Some(it.id.clone()))),
        cells: vec![
            it.id.clone(),
            it.kind.clone().unwrap_or_default(),
            format!("{}/{}", it.attempt, it.max_attempts),
            it.due_at.clone(),
            it.worker.clone().unwrap_or_default(),
            error(it),
        ],
        tone: Tone::Plain,
    }
}

/// The first line of the error.
fn error(job: &JobReply) -> String {
    let error = job.error.as_deref().or(job.reason).unwrap_or_default();
    error.lines().next().unwrap_or_default().to_owned()
}

/// Time since the job died or, before that, since its failed attempt started.
fn failed_since(job: &JobReply) -> String {
    let at = job.finished_at.as_ref().or(job.started_at.as_ref());
    let at = at.and_then(|at| timestamp::parse(at).ok());
    let now_ms = SystemClock.now_us() / 1000;
    at.map(|at| age(now_ms.saturating_sub(at.as_ms())))
        .unwrap_or_default()
}

/// A number in at most six characters.
pub(super) fn number(count: u64) -> String {
    match count {
        0..100_000 => count.to_string(),
        100_000..10_000_000 => format!("{}k", count / 1_000),
        10_000_000..10_000_000_000 => format!("{}M", count / 1_000_000),
        _ => format!("{}G", count / 1_000_000_000),
    }
}

pub(super) fn rate(per_second: f64) -> String {
    if per_second < 1_000.0 {
        format!("{per_second:.1}")
    } else {
        format!("{per_second:.0}")
    }
}

/// A time span by its largest unit: `5m`.
pub(super) fn age(ms: u64) -> String {
    duration::short(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        assert_eq!(number(99_999), "99999");
        assert_eq!(number(123_456), "123k");
        assert_eq!(number(12_345_678), "12M");
        assert_eq!(number(u64::MAX).len(), 12);
        assert_eq!(rate(12.34), "12.3");
        assert_eq!(rate(12_345.6), "12346");
    }
}
