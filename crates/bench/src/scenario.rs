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

use clap::ValueEnum;
use serde::Serialize;
use windlass::Result;

use crate::context::BenchContext;
use crate::measure::Round;

pub(crate) use backlog::rounds as backlog_rounds;

/// A benchmark scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// One job per call, from 100 concurrent tasks
    EnqueueOne,
    /// Batches, from several concurrent producers
    EnqueueBulk,
    /// A worker draining a full queue
    Process,
    /// Producers at a fixed rate and a worker at the same time
    EndToEnd,
    /// Time from enqueue to the start of the handler in an idle worker
    Latency,
    /// How late delayed jobs start
    Delayed,
    /// Cost per job with many ready and scheduled jobs
    Backlog,
    /// Worker processes that are repeatedly killed with SIGKILL
    Crash,
    /// The HTTP API compared with the library
    Http,
}

impl Scenario {
    /// Its name and, in lower case, the description that the help has.
    pub fn about(self) -> (String, String) {
        let value = self.to_possible_value().unwrap_or_default();
        let mut about = value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        about.get_mut(..1).map(str::make_ascii_lowercase);
        (value.get_name().to_owned(), about)
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
