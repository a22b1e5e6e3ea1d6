//! The scenarios, one file each.

mod backlog;
mod crash;
mod delayed;
mod end_to_end;
mod enqueue_bulk;
mod enqueue_one;
mod fairness;
mod http;
mod latency;
mod process;
mod schedules;

use clap::ValueEnum;
use serde::Serialize;
use windlass::Result;

use crate::context::BenchContext;
use crate::measure::Round;

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
    /// How late an idle worker starts the jobs of schedules
    Schedules,
    /// Wait of a small tenant next to one with a million jobs, and slots in use by each
    Fairness,
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

    /// Whether all rounds use one store: filling it takes longer than measuring.
    pub(crate) fn shares_a_store(self) -> bool {
        matches!(self, Self::Backlog | Self::Fairness)
    }

    /// Runs one round, or `count` rounds that share a store.
    pub(crate) async fn rounds(
        self,
        context: &BenchContext<'_>,
        count: usize,
    ) -> Result<Vec<Round>> {
        let round = match self {
            Self::EnqueueOne => enqueue_one::round(context).await,
            Self::EnqueueBulk => enqueue_bulk::round(context).await,
            Self::Process => process::round(context).await,
            Self::EndToEnd => end_to_end::round(context).await,
            Self::Latency => latency::round(context).await,
            Self::Delayed => delayed::round(context).await,
            Self::Schedules => schedules::round(context).await,
            Self::Fairness => return fairness::rounds(context, count).await,
            Self::Backlog => return backlog::rounds(context, count).await,
            Self::Crash => crash::round(context).await,
            Self::Http => http::round(context).await,
        };
        Ok(vec![round?])
    }
}
