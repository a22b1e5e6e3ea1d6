//! Cleans up after dead workers, original or not, and after interrupted queue deletions.

use std::collections::BTreeSet;

use serde::Serialize;
use windlass_core::Result;

use super::workers::{FailIf, WorkerFailure};
use super::{Worqr, arg, scripts};
use crate::reply;
use crate::scan::parse_page;

/// What a cleanup did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WorqrCleanReport {
    /// Ids of the dead workers that were removed.
    pub workers: Vec<String>,
    /// Number of tasks returned to the front of their queues.
    #[serde(rename = "returned")]
    pub tasks: u64,
    /// Ids of dead original workers that are left to the original's cleanup: see
    /// [`WorkerFailure::Undecided`].
    pub undecided: Vec<String>,
}

impl WorqrCleanReport {
    /// Adds what a later cleanup did.
    pub(crate) fn add(&mut self, later: Self) {
        self.workers.extend(later.workers);
        self.tasks += later.tasks;
        // Only of the last cleanup: earlier ones may have been decided since.
        self.undecided = later.undecided;
    }
}

impl Worqr {
    /// Fails every worker whose timer ran out (`cleanupWorkers`), each in a script call that checks
    /// again whether it is alive. The original does this every 10 seconds.
    pub async fn cleanup_workers(&self) -> Result<WorqrCleanReport> {
        let mut report = WorqrCleanReport::default();
        for worker in self.expired_workers().await? {
            match self.fail(&worker, FailIf::Expired).await? {
                WorkerFailure::Ended(tasks) => {
                    report.tasks += tasks;
                    report.workers.push(worker);
                }
                WorkerFailure::Undecided(tasks) => {
                    report.tasks += tasks;
                    report.undecided.push(worker);
                }
                // It is alive again, or another cleanup was faster.
                WorkerFailure::Unknown => {}
            }
        }
        self.free_all_deleted().await?;
        Ok(report)
    }

    /// Returns registered workers whose timer ran out, and Windlass workers that an original failed
    /// without removing Windlass's own keys.
    async fn expired_workers(&self) -> Result<BTreeSet<String>> {
        let mut expired = BTreeSet::new();
        for scope in ["all", "own"] {
            let mut cursor = "0".to_owned();
            loop {
                let args = vec![arg(scope), arg(&cursor)];
                let (next, found) = parse_page(self.run_repeating(&scripts::EXPIRED, args).await?)?;
                for worker in found {
                    expired.insert(reply::text(worker)?);
                }
                if next == "0" {
                    break;
                }
                cursor = next;
            }
        }
        Ok(expired)
    }
}
