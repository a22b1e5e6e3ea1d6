//! A queue as its users see it: one part or several, dealt out and brought together again.

mod dedup;
mod enqueue;
mod fan_out;
mod grow;
mod outcome;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use windlass_core::{
    Claim, ClaimRequest, Claimer, Completion, Enqueued, Error, ErrorKind, Mode, NewJob,
    OutcomeStatus, QueueName, Result,
};

use crate::batcher::Gather;
use crate::partition::{Part, Shared};

pub(crate) use outcome::Settle;

/// How many jobs one script call takes at most.
pub(crate) const BATCH_MAX: usize = 200;

/// How many bytes of payloads one script call takes before the next begins.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// One queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: QueueName,
    shared: Arc<Shared>,
    parts: RwLock<Arc<[Arc<Member>]>>,
    turn: AtomicU32,
    known: Known,
    is_growing: AtomicBool,
    itself: Weak<Self>,
}

/// A part, and the calls that are gathered for it.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) part: Arc<Part>,
    /// Jobs go out with the number of parts their caller believed in.
    enqueues: Gather<(u32, NewJob), Answer>,
    completes: Gather<Completion, OutcomeStatus>,
}

/// What a gathered enqueue is told.
#[derive(Debug)]
pub(crate) enum Answer {
    Enqueued(Enqueued),
    /// The queue has another number of parts, which is this: the job comes back, to be dealt out anew.
    Moved(Box<NewJob>, u32),
}

impl Queue {
    pub(crate) fn new(shared: Arc<Shared>, name: QueueName) -> Arc<Self> {
        let first = Member::new(&shared, &name, 0);
        Arc::new_cyclic(|itself| Self {
            name,
            shared,
            parts: RwLock::new(Arc::from([Arc::new(first)])),
            turn: AtomicU32::new(0),
            known: Known::default(),
            is_growing: AtomicBool::new(false),
            itself: Weak::clone(itself),
        })
    }

    /// The queue as something that outlives a call.
    fn itself(&self) -> Option<Arc<Self>> {
        self.itself.upgrade()
    }

    /// How long a gathered call may take: a little more than one that goes out by itself, which knows
    /// better what became of it.
    fn patience(&self) -> Duration {
        self.shared.link.address().timeout + Duration::from_millis(200)
    }

    /// The parts this process knows of.
    pub(crate) fn parts(&self) -> Arc<[Arc<Member>]> {
        Arc::clone(&self.parts.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The part that every queue has, and that says how many there are.
    pub(crate) fn first(&self) -> Arc<Part> {
        Arc::clone(&self.parts()[0].part)
    }

    /// Learns that the queue has this many parts.
    pub(crate) fn learn(&self, count: u32) {
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        let known = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        if count > known {
            let more = (known..count).map(|n| Arc::new(Member::new(&self.shared, &self.name, n)));
            *parts = parts.iter().cloned().chain(more).collect();
        }
    }

    /// Which part to begin with: a worker's claim always with the same, so that it may be repeated.
    fn begin_at(&self, claimer: &Claimer, count: usize) -> usize {
        let turn = match claimer {
            Claimer::Worker { seq, .. } => *seq,
            Claimer::Single { .. } => u64::from(self.turn.fetch_add(1, Ordering::Relaxed)),
        };
        usize::try_from(turn).unwrap_or_default() % count
    }

    /// Does something in every part there is, in all at once, and what each answered. Meanwhile the
    /// first one is asked how many there are: where it cannot be reached, it is still done in those
    /// that are known.
    async fn in_every<T, F>(&self, verb: impl Fn(Arc<Part>) -> F) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let known = self.parts().len();
        let (looked, mut told) = tokio::join!(self.refresh(), self.in_range(0..known, &verb));
        told.extend(self.in_range(known..self.parts().len(), &verb).await);
        told.extend(looked.err().map(Err));
        told
    }

    /// Does something in every part that is known, in all at once.
    async fn in_all<T, F>(&self, verb: impl Fn(Arc<Part>) -> F) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.in_range(0..self.parts().len(), &verb).await
    }

    async fn in_range<T, F>(
        &self,
        numbers: Range<usize>,
        verb: &impl Fn(Arc<Part>) -> F,
    ) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let hands = numbers.map(|number| (number, ())).collect();
        self.in_parts(hands, |member, ()| verb(Arc::clone(&member.part)))
            .await
    }

    /// Does something in the parts of these numbers, each with what is in hand for it, in all at once:
    /// one whose server is away must not use up the time that the others have, nor keep anything from
    /// them. All have answered, each in its own way, when this does.
    async fn in_parts<H, T, F>(
        &self,
        hands: Vec<(usize, H)>,
        verb: impl Fn(Arc<Member>, H) -> F,
    ) -> Vec<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let parts = self.parts();
        let mut calls: Vec<F> = hands
            .into_iter()
            .map(|(number, hand)| verb(Arc::clone(&parts[number]), hand))
            .collect();
        if calls.len() <= 1 {
            return match calls.pop() {
                Some(call) => vec![call.await],
                None => Vec::new(),
            };
        }
        calls.into_iter().collect::<JoinSet<_>>().join_all().await
    }

    /// Takes jobs of the first part that has some. One that cannot be reached is passed: the others may
    /// have jobs, and only when they have none is the caller told.
    pub(crate) async fn claim(&self, request: &ClaimRequest) -> Result<Option<Claim>> {
        self.learn(self.first().parts_seen.load(Ordering::Relaxed));
        let parts = self.parts();
        let first = self.begin_at(&request.claimer, parts.len());
        let mut missed = None;
        for at in 0..parts.len() {
            let part = &parts[(first + at) % parts.len()].part;
            let request = marked(request, part.number, parts.len());
            match part.claim(&request).await {
                Ok(Some(claim)) => return Ok(Some(claim)),
                Ok(None) => {}
                Err(error) if may_pass(&request, &error) => {
                    missed.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        missed.map_or(Ok(None), Err)
    }
}

/// Whether a claim may go on to the next part after a failure in one. What that one handed out without
/// being heard goes back with the worker's next renewal; other claims must be told that they may have
/// been given something.
fn may_pass(request: &ClaimRequest, error: &Error) -> bool {
    let is_given_back = matches!(request.claimer, Claimer::Worker { .. })
        && !matches!(request.mode, Mode::AtMostOnce);
    error.is_transient() && (!error.is_unknown() || is_given_back)
}

/// What all parts answered, or the failure that matters most.
fn all<T>(told: Vec<Result<T>>) -> Result<Vec<T>> {
    let (mut answers, mut failed) = (Vec::with_capacity(told.len()), None);
    for told in told {
        match told {
            Ok(answer) => answers.push(answer),
            Err(failure) => failed = Some(graver(failed, failure)),
        }
    }
    failed.map_or(Ok(answers), Err)
}

/// As [`all`], of something that changes the parts it reaches.
pub(crate) fn all_done<T>(told: Vec<Result<T>>) -> Result<Vec<T>> {
    let has_done = told.iter().any(Result::is_ok);
    all(told).map_err(|failure| {
        if has_done {
            after_some(failure)
        } else {
            failure
        }
    })
}

/// Of two failures the one that leaves more open: that a call may have been carried out.
fn graver(failed: Option<Error>, other: Error) -> Error {
    match failed {
        Some(failed) if failed.is_unknown() || !other.is_unknown() => failed,
        _ => other,
    }
}

/// A failure after something of the call was done. One that would come again stays what it is: nobody
/// should repeat the call for ever.
fn after_some(failure: Error) -> Error {
    if failure.is_transient() && !failure.is_unknown() {
        done_in_part(failure)
    } else {
        failure
    }
}

/// A failure after something of the call was done is not one that did nothing.
fn done_in_part(failure: Error) -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        format!("part of the call was done, then it failed: {failure}"),
        "repeat the call with the same ids or tokens: what was done is told, and not done again",
    )
    .caused_by(failure)
}

/// Parts are being added, or were put back to what they were, while they were asked.
fn disagreement() -> Error {
    Error::new(
        ErrorKind::StoreBusy,
        "the partitions of the queue do not agree on how many they are",
        "repeat the call in a moment; if it goes on, run `windlass clean --deep`",
    )
}

/// When the number of parts was last looked up, and the numbers there have been, that one last.
#[derive(Debug, Default)]
struct Known(Mutex<(Option<Instant>, Vec<u32>)>);

impl Known {
    /// Whether it was just looked up, and nothing was heard since of more than the `parts` it told of.
    fn is_fresh(&self, trusted: Duration, parts: usize) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = known.1.last().copied().unwrap_or_default();
        known.0.is_some_and(|at| at.elapsed() < trusted)
            && usize::try_from(told).is_ok_and(|told| told >= parts)
    }

    fn set(&self, count: u32, mut earlier: Vec<u32>) {
        earlier.push(count);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = (Some(Instant::now()), earlier);
    }

    fn forget(&self) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.0 = None;
    }

    fn numbers(&self) -> Vec<u32> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.1.clone()
    }
}

impl Member {
    fn new(shared: &Arc<Shared>, queue: &QueueName, number: u32) -> Self {
        let part = Arc::new(Part::new(Arc::clone(shared), queue.clone(), number));
        Self {
            enqueues: enqueue::gathered_enqueues(Arc::clone(&part)),
            completes: enqueue::gathered_completes(Arc::clone(&part)),
            part,
        }
    }
}

/// The request to one of several parts: the token will say which, in the first byte of its nonce.
fn marked(request: &ClaimRequest, part: u32, count: usize) -> ClaimRequest {
    let mut request = request.clone();
    if count > 1 {
        request.nonce = (request.nonce & 0x00ff_ffff) | (part << 24);
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: ErrorKind) -> Error {
        Error::new(kind, "it failed", "try again")
    }

    #[test]
    fn a_call_that_may_have_been_carried_out_is_told_before_one_that_was_not() {
        use ErrorKind::{OutcomeUnknown, StoreUnreachable};
        for [first, second] in [
            [OutcomeUnknown, StoreUnreachable],
            [StoreUnreachable, OutcomeUnknown],
        ] {
            let told: Vec<Result<()>> = vec![Err(failure(first)), Err(failure(second))];
            assert_eq!(all(told).unwrap_err().kind(), OutcomeUnknown);
        }
    }

    #[test]
    fn what_was_done_in_part_is_unknown_unless_it_would_fail_again() {
        use ErrorKind::{OutcomeUnknown, StoreDamaged, StoreUnreachable};
        let told = |failed| all_done(vec![Ok(1), Err(failure(failed))]).map_err(|e| e.kind());
        assert_eq!(told(StoreUnreachable), Err(OutcomeUnknown));
        assert_eq!(told(StoreDamaged), Err(StoreDamaged));
        let nowhere: Vec<Result<()>> = vec![Err(failure(StoreUnreachable))];
        assert_eq!(all_done(nowhere).unwrap_err().kind(), StoreUnreachable);
    }
}
