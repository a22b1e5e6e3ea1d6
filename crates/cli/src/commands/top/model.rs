//! What `top` shows: the snapshot of one refresh, the page, and what the user is doing.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass::store::Change;
use windlass::{JobState, QueueName};
use windlass_api::{JobReply, QueueReply, WorkerReply};

/// The states of jobs in the order of the tabs.
pub(super) const STATES: [JobState; 7] = [
    JobState::Ready,
    JobState::Running,
    JobState::Scheduled,
    JobState::Pending,
    JobState::Dead,
    JobState::Succeeded,
    JobState::Cancelled,
];

/// The store at one moment; with `--json` it is the result.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Snapshot {
    pub(super) queues: Vec<QueueNumbers>,
    pub(super) total: Numbers,
    pub(super) workers: Vec<WorkerReply>,
    /// Dead jobs, and those that are retried after an error, the newest first.
    pub(super) failures: Vec<JobReply>,
}

/// The stats of a queue, its rates and its workers.
#[derive(Debug, Clone, Serialize)]
pub(super) struct QueueNumbers {
    #[serde(flatten)]
    pub(super) queue: QueueReply,
    pub(super) in_per_second: f64,
    pub(super) out_per_second: f64,
    /// Workers that claim from the queue, without those that are gone.
    pub(super) workers: usize,
}

/// The sums over all queues.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Numbers {
    pub(super) ready: u64,
    pub(super) pending: u64,
    pub(super) scheduled: u64,
    pub(super) running: u64,
    pub(super) dead: u64,
    pub(super) in_per_second: f64,
    pub(super) out_per_second: f64,
}

impl QueueNumbers {
    /// The rates are those of the last minute until there are two snapshots.
    pub(super) fn new(queue: QueueReply, workers: &[WorkerReply]) -> Self {
        let is_here =
            |worker: &&WorkerReply| worker.state != "lost" && worker.queues.contains(&queue.queue);
        Self {
            in_per_second: per_second(queue.last_minute.enqueued, Duration::from_secs(60)),
            out_per_second: per_second(queue.last_minute.finished, Duration::from_secs(60)),
            workers: workers.iter().filter(is_here).count(),
            queue,
        }
    }

    fn finished(&self) -> u64 {
        let total = &self.queue.total;
        total.succeeded + total.dead + total.cancelled
    }
}

impl Snapshot {
    /// Sets the rates to those since an earlier snapshot.
    pub(super) fn set_rates(&mut self, earlier: &Self, elapsed: Duration) {
        for now in &mut self.queues {
            let name = &now.queue.queue;
            if let Some(then) = earlier.queues.iter().find(|it| it.queue.queue == *name) {
                let enqueued = now.queue.total.enqueued;
                let added = enqueued.saturating_sub(then.queue.total.enqueued);
                now.in_per_second = per_second(added, elapsed);
                let finished = now.finished().saturating_sub(then.finished());
                now.out_per_second = per_second(finished, elapsed);
            }
        }
    }

    /// Sets the sums over all queues.
    pub(super) fn set_total(&mut self) {
        self.total = Numbers::default();
        for it in &self.queues {
            self.total.ready += it.queue.ready;
            self.total.pending += it.queue.pending;
            self.total.scheduled += it.queue.scheduled;
            self.total.running += it.queue.running;
            self.total.dead += it.queue.dead;
            self.total.in_per_second += it.in_per_second;
            self.total.out_per_second += it.out_per_second;
        }
    }
}

/// Rounds to one decimal.
#[expect(
    clippy::cast_precision_loss,
    reason = "a rate is shown with one decimal"
)]
fn per_second(count: u64, time: Duration) -> f64 {
    let rate = count as f64 / time.as_secs_f64().max(0.001);
    (rate * 10.0).round() / 10.0
}

/// What fills the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    Overview,
    Jobs(QueueName, JobState),
    Job(QueueName, String),
}

/// What the store returned for a page.
#[derive(Debug, Clone)]
pub(super) enum Detail {
    /// Not read yet, or nothing to read.
    Empty,
    /// The first jobs, and whether there are more.
    Jobs(Vec<JobReply>, bool),
    /// `None` if the job does not exist any more.
    Job(Option<Box<JobReply>>),
}

/// A panel of the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    Queues,
    Workers,
    Failures,
}

/// Something to do in the store, or to end with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    SetPaused(QueueName, bool),
    /// Changes one job.
    One(Change, QueueName, String),
    /// Changes all dead jobs of a queue.
    AllDead(Change, QueueName),
}

/// What keys mean at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Normal,
    Help,
    /// The filter is being typed.
    Filter,
    /// A question; `y` starts the action.
    Question(String, Action),
}

/// The selected row. It is found by its key, so that it stays the same job when others come and go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) index: usize,
    pub(super) key: String,
}

impl Selection {
    /// Moves by some rows among the given ones.
    pub(super) fn go(&mut self, by: isize, keys: &[String]) {
        let at = keys.iter().position(|key| *key == self.key);
        let at = at.unwrap_or(self.index).saturating_add_signed(by);
        self.index = at.min(keys.len().saturating_sub(1));
        self.key = keys.get(self.index).cloned().unwrap_or_default();
    }
}

/// Everything that is shown.
#[derive(Debug)]
pub(super) struct Model {
    /// The URL of the store, without secrets.
    pub(super) store: String,
    pub(super) every: Duration,
    pub(super) snapshot: Snapshot,
    /// When the store last returned a snapshot.
    pub(super) answered_at: Instant,
    /// Why it did not return one since.
    pub(super) error: Option<String>,
    pub(super) page: Page,
    /// The pages to go back to.
    pub(super) pages: Vec<Page>,
    pub(super) panel: Panel,
    pub(super) detail: Detail,
    /// Of each panel, and of the list of jobs.
    pub(super) selections: [Selection; 4],
    /// First line of a job in full.
    pub(super) scroll: u16,
    pub(super) filter: String,
    pub(super) mode: Mode,
    /// The outcome of the last action.
    pub(super) message: String,
}

impl Model {
    pub(super) fn new(store: String, every: Duration, snapshot: Snapshot) -> Self {
        Self {
            store,
            every,
            snapshot,
            answered_at: Instant::now(),
            error: None,
            page: Page::Overview,
            pages: Vec::new(),
            panel: Panel::Queues,
            detail: Detail::Empty,
            selections: Default::default(),
            scroll: 0,
            filter: String::new(),
            mode: Mode::Normal,
            message: String::new(),
        }
    }

    /// The index of the selection that keys move.
    pub(super) fn selection(&self) -> usize {
        match self.page {
            Page::Overview => self.panel as usize,
            _ => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass::store::Stats;

    use super::*;

    fn snapshot(enqueued: u64, succeeded: u64) -> Snapshot {
        let mut stats = Stats::default();
        stats.total.enqueued = enqueued;
        stats.total.succeeded = succeeded;
        stats.last_minute.enqueued = 90;
        let queue = QueueReply::new(&QueueName::new("mail").unwrap(), &stats);
        Snapshot {
            queues: vec![QueueNumbers::new(queue, &[])],
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_those_between_two_snapshots_or_of_the_last_minute() {
        let earlier = snapshot(100, 40);
        let mut now = snapshot(125, 41);
        assert_eq!(now.queues[0].in_per_second.to_string(), "1.5");

        now.set_rates(&earlier, Duration::from_secs(2));
        now.set_total();

        let numbers = &now.total;
        assert_eq!(numbers.in_per_second.to_string(), "12.5");
        assert_eq!(numbers.out_per_second.to_string(), "0.5");
    }

    #[test]
    fn the_selection_stays_with_its_row() {
        let keys = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut selection = Selection::default();
        selection.go(1, &keys(&["mail", "thumbs"]));
        assert_eq!(selection.key, "thumbs");

        selection.go(0, &keys(&["mail", "reports", "thumbs"]));
        assert_eq!((selection.index, selection.key.as_str()), (2, "thumbs"));

        selection.go(0, &keys(&["mail"]));
        assert_eq!((selection.index, selection.key.as_str()), (0, "mail"));
        selection.go(0, &[]);
        selection.go(-1, &[]);
        assert_eq!(selection, Selection::default());
    }
}
