//! The scenarios: each is one file with one round, on one place.

mod backlog;
mod crash;
mod delayed;
mod end_to_end;
mod enqueue_bulk;
mod enqueue_one;
mod http;
mod latency;
mod process;

use windlass::Result;

use crate::measure::Round;
use crate::stage::Stage;

pub(crate) use backlog::rounds as backlog_rounds;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// One job per call, by a hundred tasks at once.
    EnqueueOne,
    /// Batches, by several producers at once.
    EnqueueBulk,
    /// A worker that works off a full queue.
    Process,
    /// Producers at a fixed pace and a worker at the same time.
    EndToEnd,
    /// From enqueue to the start of the handler in an idle worker.
    Latency,
    /// How late delayed jobs start that fall due within a while.
    Delayed,
    /// What one job costs while many wait.
    Backlog,
    /// Worker processes that are killed again and again.
    Crash,
    /// The HTTP door beside the library.
    Http,
}

impl Scenario {
    /// All of them, in the order they are run.
    pub const ALL: [Self; 9] = [
        Self::EnqueueOne,
        Self::EnqueueBulk,
        Self::Process,
        Self::EndToEnd,
        Self::Latency,
        Self::Delayed,
        Self::Backlog,
        Self::Crash,
        Self::Http,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EnqueueOne => "enqueue-one",
            Self::EnqueueBulk => "enqueue-bulk",
            Self::Process => "process",
            Self::EndToEnd => "end-to-end",
            Self::Latency => "latency",
            Self::Delayed => "delayed",
            Self::Backlog => "backlog",
            Self::Crash => "crash",
            Self::Http => "http",
        }
    }

    /// What it measures, in a line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::EnqueueOne => "one job per call, by 100 tasks at once",
            Self::EnqueueBulk => "batches, by several producers at once",
            Self::Process => "a worker that works off a full queue",
            Self::EndToEnd => "producers at a fixed pace and a worker at the same time",
            Self::Latency => "from enqueue to the start of the handler in an idle worker",
            Self::Delayed => "how late delayed jobs start that fall due within a while",
            Self::Backlog => "what one job costs while many wait and many are scheduled",
            Self::Crash => "worker processes that are killed with -9 again and again",
            Self::Http => "the HTTP door beside the library",
        }
    }

    /// One round; the backlog has its own way, since filling a store takes longer than measuring.
    pub(crate) async fn round(self, stage: &Stage<'_>) -> Result<Round> {
        match self {
            Self::EnqueueOne => enqueue_one::round(stage).await,
            Self::EnqueueBulk => enqueue_bulk::round(stage).await,
            Self::Process => process::round(stage).await,
            Self::EndToEnd => end_to_end::round(stage).await,
            Self::Latency => latency::round(stage).await,
            Self::Delayed => delayed::round(stage).await,
            Self::Backlog => backlog::round(stage).await,
            Self::Crash => crash::round(stage).await,
            Self::Http => http::round(stage).await,
        }
    }
}
