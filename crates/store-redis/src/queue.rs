//! A queue: distributes calls over its partitions and merges their replies.

mod dedup;
pub(crate) mod enqueue;
mod errors;
mod fan_out;
mod groups;
mod grow;
mod outcome;
mod renew;
mod schedules;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use windlass_core::store::Claimer;
use windlass_core::{
    BootId, Claim, ClaimRequest, Enqueued, Error, ErrorKind, Mode, NewJob, QueueName, Result,
};
use windlass_redis_link::deadline;

pub(crate) use enqueue::{result_bytes, weight};

use crate::claim_wait::Waiters;
use crate::partition::{Partition, Shared};

pub(crate) use outcome::Outcomes;

/// Maximum number of jobs in one script call.
pub(crate) const BATCH_MAX: usize = 200;

/// Payload bytes after which the next script call starts.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

pub(crate) struct Queue {
    pub(crate) name: QueueName,
    shared: Arc<Shared>,
    partitions: RwLock<Arc<[Arc<Partition>]>>,
    /// Which partition the next single claim starts with.
    turn: AtomicU32,
    known: KnownCounts,
    is_growing: AtomicBool,
    /// The waiting claims: of each boot, and of all others together.
    waiters: Mutex<HashMap<Option<BootId>, Arc<Waiters>>>,
    weak_self: Weak<Self>,
}

/// The reply to one job of a batched enqueue.
#[derive(Debug)]
pub(crate) enum EnqueueReply {
    Enqueued(Enqueued),
    /// The queue has this other number of partitions: the job is returned and must be sent again.
    Moved(Box<NewJob>, u32),
}

impl Queue {
    pub(crate) fn new(shared: Arc<Shared>, name: QueueName) -> Arc<Self> {
        let first = Partition::new(Arc::clone(&shared), name.clone(), 0);
        Arc::new_cyclic(|weak_self| Self {
            name,
            shared,
            partitions: RwLock::new(Arc::from([first])),
            turn: AtomicU32::new(0),
            known: KnownCounts::default(),
            is_growing: AtomicBool::new(false),
            waiters: Mutex::default(),
            weak_self: Weak::clone(weak_self),
        })
    }

    /// A shared reference to this queue, for a background task.
    pub(crate) fn to_arc(&self) -> Option<Arc<Self>> {
        self.weak_self.upgrade()
    }

    /// The deadline of a batched call: slightly later than that of a single call, whose error is more
    /// specific.
    fn until(&self) -> Instant {
        let until = deadline::current();
        let until = until.unwrap_or_else(|| Instant::now() + self.shared.link.address().timeout);
        until + Duration::from_millis(200)
    }

    /// The partitions this process knows of.
    pub(crate) fn partitions(&self) -> Arc<[Arc<Partition>]> {
        Arc::clone(
            &self
                .partitions
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// The first partition: every queue has it, and it stores the number of partitions.
    pub(crate) fn first(&self) -> Arc<Partition> {
        Arc::clone(&self.partitions()[0])
    }

    /// Adds partitions up to this number.
    pub(crate) fn learn(&self, count: u32) {
        let mut partitions = self
            .partitions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let known = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
        if count > known {
            let more = (known..count)
                .map(|n| Partition::new(Arc::clone(&self.shared), self.name.clone(), n));
            *partitions = partitions.iter().cloned().chain(more).collect();
        }
    }

    /// Adds the partitions that claims have seen; returns their number.
    pub(crate) fn learn_from_claims(&self) -> usize {
        let partitions = self.partitions();
        let seen = |partition: &Arc<Partition>| partition.partitions_seen.load(Ordering::Relaxed);
        self.learn(partitions.iter().map(seen).max().unwrap_or(1));
        self.partitions().len()
    }

    /// Whether each partition is in another slot.
    pub(crate) fn is_on_cluster(&self) -> bool {
        self.shared.link.address().is_cluster()
    }

    /// The waiting claims that can take the same jobs. Those of a boot are separate: a boot may not be
    /// given the jobs that others get.
    pub(crate) fn waiters(&self, claimer: &Claimer) -> Arc<Waiters> {
        let boot = match claimer {
            Claimer::Worker { boot, .. } => Some(boot.clone()),
            Claimer::Single { .. } => None,
        };
        let mut all = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiters) = all.get(&boot) {
            return Arc::clone(waiters);
        }
        // Boots that wait no more.
        all.retain(|_, waiters| Arc::strong_count(waiters) > 1);
        let waiters = Arc::new(Waiters::new(Weak::clone(&self.weak_self)));
        all.insert(boot, Arc::clone(&waiters));
        waiters
    }

    /// The partition a claim starts with. A worker's claim always starts with the same, so that it can be
    /// repeated.
    pub(crate) fn start_of(&self, claimer: &Claimer, count: usize) -> usize {
        let turn = match claimer {
            Claimer::Worker { seq, .. } => *seq,
            Claimer::Single { .. } => u64::from(self.turn.fetch_add(1, Ordering::Relaxed)),
        };
        usize::try_from(turn).unwrap_or_default() % count
    }

    /// Runs a verb in every partition, concurrently, and returns all results. Meanwhile reads the number
    /// of partitions: if that fails, the verb still runs in the known ones.
    async fn in_every<T, F>(&self, verb: impl Fn(Arc<Partition>) -> F) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let known = self.partitions().len();
        let (refreshed, mut results) = tokio::join!(self.refresh(), self.in_range(0..known, &verb));
        results.extend(self.in_range(known..self.partitions().len(), &verb).await);
        results.extend(refreshed.err().map(Err));
        results
    }

    /// Runs a verb in the partitions of these numbers, concurrently.
    async fn in_range<T, F>(
        &self,
        numbers: Range<usize>,
        verb: &impl Fn(Arc<Partition>) -> F,
    ) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let batches = numbers.map(|number| (number, ())).collect();
        self.in_partitions(batches, |partition, ()| verb(partition))
            .await
    }

    /// Runs a verb in the partitions of these numbers, each with its batch, concurrently: an unreachable
    /// server must not delay or fail the others. Returns when all have finished.
    async fn in_partitions<B, T, F>(
        &self,
        batches: Vec<(usize, B)>,
        verb: impl Fn(Arc<Partition>, B) -> F,
    ) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let partitions = self.partitions();
        let mut calls: Vec<F> = batches
            .into_iter()
            .map(|(number, batch)| verb(Arc::clone(&partitions[number]), batch))
            .collect();
        if calls.len() <= 1 {
            return match calls.pop() {
                Some(call) => vec![call.await],
                None => Vec::new(),
            };
        }
        let calls = calls.into_iter().map(deadline::inherited);
        calls.collect::<JoinSet<_>>().join_all().await
    }

    /// Claims jobs from the first partition that has any. An unreachable partition is skipped; its error
    /// is returned only if the others have no jobs.
    pub(crate) async fn claim(&self, request: &ClaimRequest) -> Result<Option<Claim>> {
        self.learn_from_claims();
        let partitions = self.partitions();
        let first = self.start_of(&request.claimer, partitions.len());
        let mut skipped = None;
        for at in 0..partitions.len() {
            let partition = &partitions[(first + at) % partitions.len()];
            let request = for_partition(request, partition.number, partitions.len());
            match partition.claim(&request).await {
                Ok(Some(claim)) => return Ok(Some(claim)),
                Ok(None) => {}
                Err(error) if may_skip(&request, &error) => {
                    skipped.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        skipped.map_or(Ok(None), Err)
    }
}

/// Whether a claim may continue with the next partition after this error. If the reply was lost, a
/// worker's next renewal requeues the jobs; other callers must get the error, since they may have
/// been given jobs.
pub(crate) fn may_skip(request: &ClaimRequest, error: &Error) -> bool {
    let is_requeued = matches!(request.claimer, Claimer::Worker { .. })
        && !matches!(request.mode, Mode::AtMostOnce);
    error.is_transient() && (!error.is_unknown() || is_requeued)
}

/// All replies, or the most serious error.
fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let (mut replies, mut failed) = (Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            Ok(reply) => replies.push(reply),
            Err(error) => failed = Some(worse(failed, error)),
        }
    }
    failed.map_or(Ok(replies), Err)
}

/// Like [`all`], for a verb that changes the partitions it reaches.
pub(crate) fn all_done<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let is_any_done = results.iter().any(Result::is_ok);
    all(results).map_err(|error| {
        if is_any_done {
            after_some(error)
        } else {
            error
        }
    })
}

/// The more serious of two errors: one after which the call may have been applied.
fn worse(failed: Option<Error>, other: Error) -> Error {
    match failed {
        Some(failed) if failed.is_unknown() || !other.is_unknown() => failed,
        _ => other,
    }
}

/// The error of a call that was partly applied. A permanent error stays as it is, so that callers do
/// not repeat the call forever.
fn after_some(error: Error) -> Error {
    if error.is_transient() && !error.is_unknown() {
        partly_applied(error)
    } else {
        error
    }
}

/// Wraps the error of a call that was partly applied.
fn partly_applied(error: Error) -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        format!("the call was partly applied, then it failed: {error}"),
        "repeat the call with the same ids or tokens: what was applied is reported and not repeated",
    )
    .caused_by(error)
}

/// Partitions are being added, or the database was restored, during the call.
fn disagreement() -> Error {
    Error::new(
        ErrorKind::StoreBusy,
        "the partitions of the queue disagree on their number",
        "repeat the call in a moment; if it keeps failing, run `windlass audit`",
    )
}

/// When the number of partitions was last read, and all numbers so far, the current one last.
#[derive(Debug, Default)]
struct KnownCounts(Mutex<(Option<Instant>, Vec<u32>)>);

impl KnownCounts {
    /// Whether it was read within `max_age`, and covers the `parts` known since.
    fn is_fresh(&self, max_age: Duration, partitions: usize) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = known.1.last().copied().unwrap_or_default();
        known.0.is_some_and(|at| at.elapsed() < max_age)
            && usize::try_from(count).is_ok_and(|count| count >= partitions)
    }

    fn set(&self, count: u32, mut earlier: Vec<u32>) {
        earlier.push(count);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = (Some(Instant::now()), earlier);
    }

    fn expire(&self) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.0 = None;
    }

    fn numbers(&self) -> Vec<u32> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.1.clone()
    }
}

/// The request to one of several partitions: the first byte of the nonce, and so the token, names it.
pub(crate) fn for_partition(request: &ClaimRequest, partition: u32, count: usize) -> ClaimRequest {
    let mut request = request.clone();
    if count > 1 {
        request.nonce = (request.nonce & 0x00ff_ffff) | (partition << 24);
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: ErrorKind) -> Error {
        Error::new(kind, "failed", "try again")
    }

    #[test]
    fn an_unknown_outcome_wins_over_a_call_that_was_not_applied() {
        use ErrorKind::{OutcomeUnknown, StoreUnreachable};
        for [first, second] in [
            [OutcomeUnknown, StoreUnreachable],
            [StoreUnreachable, OutcomeUnknown],
        ] {
            let results: Vec<Result<()>> = vec![Err(failure(first)), Err(failure(second))];
            assert_eq!(all(results).unwrap_err().kind(), OutcomeUnknown);
        }
    }

    #[test]
    fn a_partly_applied_call_is_unknown_unless_the_error_is_permanent() {
        use ErrorKind::{OutcomeUnknown, StoreDamaged, StoreUnreachable};
        let kind_of = |failed| all_done(vec![Ok(1), Err(failure(failed))]).map_err(|e| e.kind());
        assert_eq!(kind_of(StoreUnreachable), Err(OutcomeUnknown));
        assert_eq!(kind_of(StoreDamaged), Err(StoreDamaged));
        let nowhere: Vec<Result<()>> = vec![Err(failure(StoreUnreachable))];
        assert_eq!(all_done(nowhere).unwrap_err().kind(), StoreUnreachable);
    }
}
