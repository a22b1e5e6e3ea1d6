//! Finds the workers that died, whoever's they are, and what deleted queues left.

use std::collections::BTreeSet;

use windlass_core::Result;

use super::search::page;
use super::workers::{Failed, Victim};
use super::{Worqr, arg, scripts};
use crate::reply;

/// What a cleanup did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// The workers that had died, by id.
    pub workers: Vec<String>,
    /// How many tasks went back to the front of their queues.
    pub tasks: u64,
    /// The workers of the original that had died and are left to their kin: see
    /// [`Failed::Undecided`].
    pub undecided: Vec<String>,
}

impl Worqr {
    /// Fails every worker whose timer ran out (`cleanupWorkers`), one a step; whether it lives is
    /// looked at again in that step. The original does this every 10 seconds.
    pub async fn cleanup_workers(&self) -> Result<Cleaned> {
        let mut cleaned = Cleaned::default();
        for worker in self.expired_workers().await? {
            match self.fail(&worker, Victim::Expired).await? {
                Failed::Ended(tasks) => {
                    cleaned.tasks += tasks;
                    cleaned.workers.push(worker);
                }
                Failed::Undecided(tasks) => {
                    cleaned.tasks += tasks;
                    cleaned.undecided.push(worker);
                }
                // It came back to life, or somebody else was faster.
                Failed::Unknown => {}
            }
        }
        self.free_all_deleted().await?;
        Ok(cleaned)
    }

    /// Those that are noted as the original does, and those of ours that somebody else failed
    /// without knowing our keys.
    async fn expired_workers(&self) -> Result<BTreeSet<String>> {
        let mut expired = BTreeSet::new();
        for whose in ["all", "own"] {
            let mut cursor = "0".to_owned();
            loop {
                let args = vec![arg(whose), arg(&cursor)];
                let (next, found) = page(self.run_repeating(&scripts::EXPIRED, args).await?)?;
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
