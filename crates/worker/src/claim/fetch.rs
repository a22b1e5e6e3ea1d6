//! The fetch loop of one queue: waits for free slots, then claims jobs for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::Result;
use windlass_core::store::{Notification, Watch};
use windlass_core::wait::{poll_interval, wait_for_notification};

use crate::backoff::Backoff;
use crate::boot_time::BootTime;
use crate::claim::limit::CLAIM_TRIES;
use crate::claim::slots::Slot;
use crate::claim::{abandon_claim, give_up_claim};
use crate::outage::StoreCaller;
use crate::queue_state::QueueState;
use crate::shared::Shared;
use crate::stop::phase::Phase;

/// The longest that one claim waits for jobs; meanwhile the store polls at least every second.
const CLAIM_WAIT_MAX: Duration = Duration::from_secs(60);

/// Claims until the worker stops.
pub(crate) async fn run(shared: Arc<Shared>, queue: Arc<QueueState>) {
    let mut fetcher = Fetcher {
        backoff: Backoff::default(),
        caller: shared.connections.outage().caller(),
        watch: None,
        shared: Arc::clone(&shared),
        queue,
    };
    loop {
        let phase = shared.stopper.until(|phase| *phase != Phase::Paused).await;
        if phase >= Phase::Stopping {
            return;
        }
        let slot = tokio::select! {
            slot = shared.slots.acquire(fetcher.queue.index) => slot,
            _ = shared.stopper.until(|phase| *phase != Phase::Working) => continue,
        };
        if let Err(error) = fetcher.fetch(slot).await {
            shared.fail(error);
            return;
        }
        // The handlers of the jobs that were claimed start before the next claim is sent.
        tokio::task::yield_now().await;
    }
}

struct Fetcher {
    shared: Arc<Shared>,
    queue: Arc<QueueState>,
    backoff: Backoff,
    caller: StoreCaller,
    watch: Option<Box<dyn Watch>>,
}

impl Fetcher {
    /// Fills the slots, waiting for jobs if none are ready.
    async fn fetch(&mut self, mut slot: Slot) -> Result<()> {
        // A full claim suggests more jobs are ready. If we may not block, poll again.
        let is_drained = self.queue.is_drained.load(Ordering::Acquire);
        if !is_drained || !self.may_block() {
            let all = slot.count();
            let Some(unused) = self.claim(slot, Duration::ZERO).await? else {
                return Ok(());
            };
            if unused.count() < all {
                return Ok(());
            }
            slot = unused;
        }
        if !self.may_block() {
            // No jobs here: leave the slots to the other queues.
            drop(slot);
            return self.wait_for_work().await;
        }
        if !self.is_only_queue() {
            // Keep one slot to block on.
            let one = slot.split(1);
            drop(std::mem::replace(&mut slot, one));
        }
        self.queue.held_claims().is_blocking = true;
        // Leases are counted from when the claim was sent: a longer wait would leave too little of them.
        let wait = self.shared.renew_every().min(CLAIM_WAIT_MAX);
        let waited = self.claim(slot, wait).await;
        self.queue.held_claims().is_blocking = false;
        waited.map(drop)
    }

    fn is_only_queue(&self) -> bool {
        self.shared.queues.len() == 1
    }

    /// Whether every queue can keep one slot to block on without starving the others.
    fn may_block(&self) -> bool {
        let options = &self.shared.options;
        self.is_only_queue()
            || options.concurrency + options.prefetch >= 2 * self.shared.queues.len()
    }

    /// Claims until a claim is answered: repeats it after an error, and asks for fewer jobs after
    /// [`CLAIM_TRIES`] without a reply. Returns the unused slots, or `None` if the worker must stop
    /// claiming.
    async fn claim(&mut self, mut slot: Slot, wait: Duration) -> Result<Option<Slot>> {
        let queue = Arc::clone(&self.queue);
        let shared = Arc::clone(&self.shared);
        let start_claim = |max| shared.start_claim(&queue, queue.held_claims().next_claim(), max);
        let mut pending = start_claim(slot.count());
        let (mut is_repeated, mut unanswered) = (false, 0);
        loop {
            let sent = BootTime::now();
            // After an error the reply is wanted at once: it shows that the store is back.
            let wait = if self.caller.is_failing() {
                Duration::ZERO
            } else {
                wait
            };
            let called = tokio::select! {
                called = queue.store().claim_waiting(queue.name(), &mut pending.request, wait) => called,
                () = queue.claim_again.notified() => {
                    is_repeated = true;
                    continue;
                }
                _ = shared.stopper.until(|phase| *phase != Phase::Working) => {
                    self.caller.give_up();
                    abandon_claim(&queue, &pending);
                    return Ok(None);
                }
            };
            match called {
                Ok(claim) => {
                    self.backoff.reset();
                    self.caller.succeeded();
                    if is_repeated && claim.is_none() {
                        // An earlier try may have reached the store and been given jobs that the
                        // store no longer repeats, because a later claim came in between.
                        abandon_claim(&queue, &pending);
                    }
                    // The store may have made the claim at any time since it was sent: the reply may
                    // have been slow, or read late because handlers blocked the runtime.
                    shared.claim_answered(&queue, &pending, claim, sent, &mut slot);
                    if is_repeated {
                        // The lease may have begun with an earlier try. Not requested earlier, since
                        // there was nothing to renew.
                        queue.renew_now();
                    }
                    return Ok(Some(slot));
                }
                Err(error) if error.is_transient() => {
                    is_repeated = true;
                    unanswered += usize::from(error.is_unknown());
                    self.caller.failed(&error);
                    if !shared.stopper.sleep(self.backoff.next()).await {
                        abandon_claim(&queue, &pending);
                        return Ok(None);
                    }
                    if unanswered == CLAIM_TRIES {
                        give_up_claim(&queue, &pending);
                        pending = start_claim(slot.count());
                        (is_repeated, unanswered) = (false, 0);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a notification, or until the next poll.
    async fn wait_for_work(&mut self) -> Result<()> {
        if self.watch.is_none() {
            let queue = self.queue.name().clone();
            match self.queue.store().watch(&[queue]).await {
                Ok(watch) => {
                    // Jobs enqueued before the watch began sent no notification: poll now.
                    self.watch = Some(watch);
                    return Ok(());
                }
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
        }
        let is_work = |notification: &Notification| {
            matches!(notification, Notification::Work(_) | Notification::Resync)
        };
        let wait = async {
            match &mut self.watch {
                Some(watch) => {
                    wait_for_notification(watch.as_mut(), poll_interval(), is_work).await;
                }
                None => tokio::time::sleep(poll_interval()).await,
            }
        };
        tokio::select! {
            () = wait => {}
            _ = self.shared.stopper.until(|phase| *phase != Phase::Working) => {}
        }
        Ok(())
    }
}
