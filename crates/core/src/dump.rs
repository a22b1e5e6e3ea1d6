//! The whole state of a queue in one canonical form, so that two stores can be compared.
//!
//! For tests and support: reading it is a full scan.

use std::time::Duration;

use async_trait::async_trait;

use crate::claim::Owner;
use crate::error::Result;
use crate::job::{Job, JobState};
use crate::name::{JobId, QueueName, UniqueKey};
use crate::outcome::OutcomeStatus;
use crate::queue::Stats;
use crate::setting::Settings;
use crate::time::Timestamp;
use crate::token::Token;

/// A store that can show everything it holds.
#[async_trait]
pub trait Dump {
    /// Everything held of one queue; `None` where it does not exist.
    async fn dump(&self, queue: &QueueName) -> Result<Option<QueueDump>>;
}

/// Everything a store holds of one queue. Lists are in the order of their keys unless said.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueDump {
    /// Ready jobs in the order they will be claimed, by priority: suspects, then the others.
    pub ready: Vec<(Vec<JobId>, Vec<JobId>)>,
    /// Every job, payloads and results included.
    pub jobs: Vec<Job>,
    /// Who holds a key.
    pub unique_keys: Vec<(UniqueKey, JobId)>,
    /// Ids remembered after their job's end.
    pub tombstones: Vec<(JobId, JobState, Timestamp)>,
    /// Leases by owner.
    pub leases: Vec<LeaseDump>,
    /// Claims that are open, or finished and remembered.
    pub claims: Vec<ClaimDump>,
    /// The queue's figures.
    pub stats: Stats,
    /// The queue's settings.
    pub settings: Settings,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseDump {
    /// The boot, or the token of a single claim.
    pub owner: Owner,
    /// When it ends; 0 when its reaping has begun.
    pub until: Timestamp,
    /// How long it was last asked to be.
    pub length: Duration,
    /// The latest claim of a boot: its seq and token.
    pub last: Option<(u64, Token)>,
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimDump {
    /// Its token.
    pub token: Token,
    /// The owner of its lease.
    pub owner: Owner,
    /// Its number among the boot's claims; 0 for single claims.
    pub seq: u64,
    /// How many jobs it handed out.
    pub size: usize,
    /// How many of them are still held.
    pub remaining: usize,
    /// Those that left in another way than by completion, in the order of their ids.
    pub left: Vec<(JobId, OutcomeStatus)>,
    /// When the last one left.
    pub finished_at: Option<Timestamp>,
}
