//! Gathers calls that come while a round trip is under way, so that they share the next one.
//!
//! There is no timer: who comes alone goes out at once, who comes while others are on their way
//! waits for them to come back and goes out with everybody else who waited.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_core::{Error, ErrorKind, Result};

use crate::fault::copy;

type Running<R> = Pin<Box<dyn Future<Output = Result<Vec<R>>> + Send>>;
type Run<T, R> = Box<dyn Fn(Vec<T>) -> Running<R> + Send + Sync>;
type Weigh<T> = Box<dyn Fn(&T) -> usize + Send + Sync>;

/// How much goes out together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Items of one run; a single call may bring more and then goes out alone.
    pub(crate) items: usize,
    /// Weight of one run, likewise.
    pub(crate) weight: usize,
    /// Runs under way at the same time.
    pub(crate) runs: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            items: 500,
            weight: 4 * 1024 * 1024,
            runs: 1,
        }
    }
}

/// Gathers calls; clones share one line.
pub(crate) struct Gather<T, R> {
    inner: Arc<Inner<T, R>>,
}

struct Inner<T, R> {
    run: Run<T, R>,
    weigh: Weigh<T>,
    bounds: Bounds,
    line: Mutex<Line<T, R>>,
}

struct Line<T, R> {
    waiting: VecDeque<Waiting<T, R>>,
    under_way: usize,
}

/// One call that waits to go out.
struct Waiting<T, R> {
    items: Vec<T>,
    weight: usize,
    answer: oneshot::Sender<Result<Vec<R>>>,
}

impl<T, R> Gather<T, R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    /// `run` answers each item, in order; `weigh` says how heavy one is.
    pub(crate) fn new<F>(
        bounds: Bounds,
        weigh: impl Fn(&T) -> usize + Send + Sync + 'static,
        run: impl Fn(Vec<T>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<R>>> + Send + 'static,
    {
        Self {
            inner: Arc::new(Inner {
                run: Box::new(move |items| Box::pin(run(items))),
                weigh: Box::new(weigh),
                bounds,
                line: Mutex::new(Line {
                    waiting: VecDeque::new(),
                    under_way: 0,
                }),
            }),
        }
    }

    /// Sends items with whatever else is to go out, and hands back their answers, in order. A
    /// caller that goes away before its items went out takes them back.
    pub(crate) async fn call(&self, items: Vec<T>) -> Result<Vec<R>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let (answer, answered) = oneshot::channel();
        self.inner.stand_in_line(Waiting {
            weight: items.iter().map(&self.inner.weigh).sum(),
            items,
            answer,
        });
        self.inner.send_off();
        answered.await.unwrap_or_else(|_| Err(ended()))
    }

    /// The same, for a caller that waits no longer than this, in line and under way together.
    pub(crate) async fn call_within(&self, patience: Duration, items: Vec<T>) -> Result<Vec<R>> {
        let answered = tokio::time::timeout(patience, self.call(items)).await;
        answered.unwrap_or_else(|_| Err(late()))
    }
}

impl<T, R> Inner<T, R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    fn stand_in_line(&self, waiting: Waiting<T, R>) {
        self.line().waiting.push_back(waiting);
    }

    /// Starts as many runs as may be under way. Each is carried on whatever becomes of its callers.
    fn send_off(self: &Arc<Self>) {
        loop {
            let group = {
                let mut line = self.line();
                if line.under_way >= self.bounds.runs {
                    return;
                }
                let group = line.next(&self.bounds);
                if group.is_empty() {
                    return;
                }
                line.under_way += 1;
                group
            };
            let turn = Turn(Arc::clone(self));
            tokio::spawn(async move {
                turn.0.carry_out(group).await;
                // Those just answered mostly come again: they go along with the next.
                tokio::task::yield_now().await;
                drop(turn);
            });
        }
    }

    async fn carry_out(&self, group: Vec<Waiting<T, R>>) {
        let mut items = Vec::with_capacity(group.iter().map(|waiting| waiting.items.len()).sum());
        let mut callers = Vec::with_capacity(group.len());
        for waiting in group {
            callers.push((waiting.items.len(), waiting.answer));
            items.extend(waiting.items);
        }
        let count = items.len();
        match (self.run)(items).await {
            Ok(answers) if answers.len() == count => {
                let mut answers = answers.into_iter();
                for (count, caller) in callers {
                    let own = answers.by_ref().take(count).collect();
                    // A caller that is gone does not need its answer.
                    let _ = caller.send(Ok(own));
                }
            }
            Ok(answers) => tell(callers, &miscounted(count, answers.len())),
            Err(error) => tell(callers, &error),
        }
    }

    fn line(&self) -> MutexGuard<'_, Line<T, R>> {
        // What is inside is whole between two statements, so a panic elsewhere leaves it whole.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, R> Line<T, R> {
    /// Takes from the head as many calls as go out together, without those nobody waits for.
    fn next(&mut self, bounds: &Bounds) -> Vec<Waiting<T, R>> {
        let mut group = Vec::new();
        let (mut items, mut weight) = (0, 0);
        while let Some(head) = self.waiting.front() {
            if !head.answer.is_closed() {
                items += head.items.len();
                weight += head.weight;
                if !group.is_empty() && (items > bounds.items || weight > bounds.weight) {
                    break;
                }
            }
            group.extend(
                self.waiting
                    .pop_front()
                    .filter(|head| !head.answer.is_closed()),
            );
        }
        group
    }
}

/// The place of one run among those under way; given up however the run ends.
struct Turn<T: Send + 'static, R: Send + 'static>(Arc<Inner<T, R>>);

impl<T: Send + 'static, R: Send + 'static> Drop for Turn<T, R> {
    fn drop(&mut self) {
        self.0.line().under_way -= 1;
        // At the end of the runtime nothing can be sent off any more; callers are told.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.0.send_off();
        }
    }
}

impl<T, R> Clone for Gather<T, R> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T, R> fmt::Debug for Gather<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather")
            .field("bounds", &self.inner.bounds)
            .finish_non_exhaustive()
    }
}

fn tell<R>(callers: Vec<(usize, oneshot::Sender<Result<Vec<R>>>)>, error: &Error) {
    for (_, caller) in callers {
        // A caller that is gone does not need its answer.
        let _ = caller.send(Err(copy(error)));
    }
}

fn miscounted(items: usize, answers: usize) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("{answers} answers came for {items} items"),
        "this is a fault of Windlass: report it with this message",
    )
}

fn late() -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        "a call had to wait for one before it until its own time was over; it may have been carried out",
        "repeat the call with the same id or token: the first answer comes back",
    )
}

fn ended() -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        "a call was given up while it was under way; it may have been carried out",
        "repeat the call with the same id or token: the first answer comes back",
    )
}

#[cfg(test)]
mod tests;
