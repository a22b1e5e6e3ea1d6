//! Finds all tasks of dead listeners and returns or fails each one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::time::sleep;
use windlass_core::Result;

use super::liveness::{Decision, Liveness, LivenessCheck};
use super::snapshot::{HeldTask, ListenerSnapshot};
use super::{BluequeQueue, encode, scripts};
use crate::reply;

/// Error of a task whose listener died while it ran.
const WORKER_LOST: &str = "worker_lost";

/// Far longer than the gap between two commands of an original.
const SETTLE_DEFAULT: Duration = Duration::from_secs(2);

/// Which listeners count as dead, and what happens to their tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CleanOptions {
    /// Return started tasks to the front of the queue instead of failing them with `worker_lost`.
    pub retry_lost: bool,
    /// Listeners known to be dead, on any machine.
    pub lost: Vec<String>,
    /// Treat tasks of originals on other machines as lost after this long without activity. A running
    /// task shows no activity, so this must be longer than the longest task.
    pub silence: Option<Duration>,
    /// Additional host names that originals on this machine use.
    pub hosts: Vec<String>,
    /// Do not check pids, because originals with the same host name run elsewhere, for example in
    /// separate containers.
    pub ignores_pids: bool,
    /// How long a task that an original may be claiming must stay unchanged (default: 2s).
    pub settle: Duration,
}

impl Default for CleanOptions {
    fn default() -> Self {
        Self {
            retry_lost: false,
            lost: Vec::new(),
            silence: None,
            hosts: Vec::new(),
            ignores_pids: false,
            settle: SETTLE_DEFAULT,
        }
    }
}

/// What a clean did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct BluequeCleanReport {
    /// Tasks returned to the front of the queue.
    pub requeued: u64,
    /// Started tasks that failed with `worker_lost`.
    pub failed: u64,
    /// Stale entries removed: their tasks had ended or were deleted.
    pub stale: u64,
    /// Listeners declared lost.
    pub listeners: u64,
    /// Whether a wrong listener count was repaired.
    #[serde(rename = "recounted")]
    pub is_recounted: bool,
}

impl BluequeCleanReport {
    /// Adds what another clean did.
    pub(crate) fn add(&mut self, other: Self) {
        self.requeued += other.requeued;
        self.failed += other.failed;
        self.stale += other.stale;
        self.listeners += other.listeners;
        self.is_recounted |= other.is_recounted;
    }
}

/// Lost tasks and listeners.
#[derive(Debug, Default)]
pub(super) struct LostTasks {
    pub(super) tasks: Vec<HeldTask>,
    listeners: BTreeSet<String>,
}

impl BluequeQueue {
    /// Cleans up after dead listeners: reserved tasks return to the front of the queue, started tasks
    /// are failed or returned as the options say. Several cleaners may run concurrently.
    pub async fn clean(&self, options: &CleanOptions) -> Result<BluequeCleanReport> {
        let miscounted = self.miscounted().await?;
        let mut lost = self.find_lost(options).await?;
        let mut report = BluequeCleanReport::default();
        for task in &lost.tasks {
            match self.recover(task, options).await?.as_str() {
                "requeued" => report.requeued += 1,
                "failed" => report.failed += 1,
                "stale" => report.stale += 1,
                // The task changed meanwhile: the next clean checks it again.
                _ => {
                    lost.listeners.remove(&task.listener);
                }
            }
        }
        for listener in &lost.listeners {
            let args = vec![Bytes::from(listener.clone())];
            let forgotten = self.run(&scripts::FORGET, args).await?;
            report.listeners += u64::try_from(reply::number(&forgotten)?).unwrap_or_default();
        }
        if let Some(before) = miscounted {
            report.is_recounted = self.recount(&before, options).await?;
        }
        Ok(report)
    }

    /// Finds lost tasks. Declares their listeners lost first, so that no original claims from them any
    /// more. Tasks that an original may already be claiming are checked twice.
    pub(super) async fn find_lost(&self, options: &CleanOptions) -> Result<LostTasks> {
        let snapshot = self.snapshot(&options.lost).await?;
        let check = LivenessCheck::new(self.name(), &snapshot, options);
        let declared = self.declare_lost(&snapshot, &check, options).await?;
        let mut lost = LostTasks::default();
        let mut uncertain = BTreeSet::new();
        for task in &snapshot.held {
            match (check.decide(task), declared.get(task.listener.as_str())) {
                (Decision::Leave, _) | (_, Some(DeclareReply::Alive)) => {}
                (Decision::Recheck, _) | (_, Some(DeclareReply::Gone)) => {
                    uncertain.insert(task.clone());
                }
                (Decision::Lost, _) => lost.tasks.push(task.clone()),
            }
        }
        let declared = declared
            .iter()
            .filter(|(_, reply)| **reply == DeclareReply::Declared);
        lost.listeners = declared.map(|(name, _)| (*name).to_owned()).collect();
        if !uncertain.is_empty() {
            sleep(options.settle).await;
            let second = self.snapshot(&options.lost).await?;
            let check = LivenessCheck::new(self.name(), &second, options);
            let is_lost = |task: &&HeldTask| {
                uncertain.contains(*task) && check.decide(task) != Decision::Leave
            };
            lost.tasks
                .extend(second.held.iter().filter(is_lost).cloned());
        }
        Ok(lost)
    }

    async fn declare_lost<'a>(
        &self,
        snapshot: &'a ListenerSnapshot,
        check: &LivenessCheck<'_>,
        options: &CleanOptions,
    ) -> Result<BTreeMap<&'a str, DeclareReply>> {
        let mut declared = BTreeMap::new();
        for listener in snapshot.listeners() {
            if check.liveness(listener) != Liveness::Lost {
                continue;
            }
            let is_known = options.lost.iter().any(|lost| lost == listener);
            let known = if is_known { "known" } else { "" };
            let args = vec![Bytes::from(listener.to_owned()), Bytes::from(known)];
            let status = reply::text(self.run(&scripts::DECLARE_LOST, args).await?)?;
            let reply = match status.as_str() {
                "declared" => DeclareReply::Declared,
                "alive" => DeclareReply::Alive,
                _ => DeclareReply::Gone,
            };
            declared.insert(listener, reply);
        }
        Ok(declared)
    }

    async fn recover(&self, task: &HeldTask, options: &CleanOptions) -> Result<String> {
        let mut args = task.expected_args();
        let started = if options.retry_lost { "retry" } else { "fail" };
        args.push(Bytes::from_static(started.as_bytes()));
        args.push(encode(self.blueque.layout, WORKER_LOST));
        reply::text(self.run(&scripts::RECOVER, args).await?)
    }

    /// Returns the recorded and the actual number of listeners, if they differ.
    async fn miscounted(&self) -> Result<Option<(String, u64)>> {
        let stats = self.stats().await?;
        let recorded = stats.recorded_listeners.unwrap_or_default();
        let is_right = match recorded.parse::<f64>() {
            #[expect(
                clippy::cast_precision_loss,
                reason = "there are fewer than 2^52 listeners"
            )]
            Ok(number) => (number - stats.listeners as f64).abs() < 0.5,
            Err(_) => stats.listeners == 0,
        };
        Ok((!is_right).then_some((recorded, stats.listeners)))
    }

    /// Repairs the recorded number of listeners. An original needs two commands to remove a listener,
    /// so only a mismatch that lasts is repaired.
    async fn recount(&self, before: &(String, u64), options: &CleanOptions) -> Result<bool> {
        let Some(first) = self.miscounted().await? else {
            return Ok(false);
        };
        sleep(options.settle).await;
        // This clean may have changed both numbers, but by the same amount.
        let Some(now) = self.miscounted().await? else {
            return Ok(false);
        };
        if now != first && now != *before {
            return Ok(false);
        }
        let (recorded, listeners) = now;
        let args = vec![Bytes::from(recorded), Bytes::from(listeners.to_string())];
        Ok(reply::number(&self.run(&scripts::RECOUNT, args).await?)? == 1)
    }
}

/// Reply to declaring a listener lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeclareReply {
    Declared,
    /// The listener sent a heartbeat meanwhile.
    Alive,
    /// An original removed it first.
    Gone,
}

impl HeldTask {
    /// Returns the values that a script compares, so that it changes a task only if it is unchanged.
    pub(super) fn expected_args(&self) -> Vec<Bytes> {
        let expected = [
            &self.id,
            &self.listener,
            &self.entry,
            &self.status,
            &self.updated,
            &self.reclaimed,
        ];
        expected.map(|text| Bytes::from(text.clone())).to_vec()
    }
}
