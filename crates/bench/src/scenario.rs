//! The scenarios, one file each.

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

use crate::context::BenchContext;
use crate::measure::Round;

pub(crate) use backlog::rounds as backlog_rounds;

/// A benchmark scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// One job per call, from 100 concurrent tasks.
    EnqueueOne,
    /// Batches, from several concurrent producers.
    EnqueueBulk,
    /// A worker draining a full queue.
    Process,
    /// Producers at a fixed rate and a worker at the same time.
    EndToEnd,
    /// Time from enqueue to the start of the handler in an idle worker.
    Latency,
    /// How late delayed jobs start.
    Delayed,
    /// Cost per job with many ready and scheduled jobs.
    Backlog,
    /// Worker processes that are repeatedly killed with SIGKILL.
    Crash,
    /// The HTTP API compared with the library.
    Http,
}

impl Scenario {
    /// All scenarios, in the order they run.
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

    /// A one-line description.
    pub const fn about(self) -> &'static str {
        match self {
            Self::EnqueueOne => "one job per call, from 100 concurrent tasks",
            Self::EnqueueBulk => "batches, from several concurrent producers",
            Self::Process => "a worker draining a full queue",
            Self::EndToEnd => "producers at a fixed rate and a worker at the same time",
            Self::Latency => "time from enqueue to the start of the handler in an idle worker",
            Self::Delayed => "how late delayed jobs start",
            Self::Backlog => "cost per job with many ready and scheduled jobs",
            Self::Crash => "worker processes that are repeatedly killed with SIGKILL",
            Self::Http => "the HTTP API compared with the library",
        }
    }

    /// Runs one round. Backlog rounds share their stores, since filling takes longer than measuring.
    pub(crate) async fn round(self, context: &BenchContext<'_>) -> Result<Round> {
        match self {
            Self::EnqueueOne => enqueue_one::round(context).await,
            Self::EnqueueBulk => enqueue_bulk::round(context).await,
            Self::Process => process::round(context).await,
            Self::EndToEnd => end_to_end::round(context).await,
            Self::Latency => latency::round(context).await,
            Self::Delayed => delayed::round(context).await,
            Self::Backlog => backlog::round(context).await,
            Self::Crash => crash::round(context).await,
            Self::Http => http::round(context).await,
        }
    }
}
