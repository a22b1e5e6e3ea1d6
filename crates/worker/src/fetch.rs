//! The fetch loop of one queue: waits for slots, then for jobs to put into them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::wait::{poll_interval, wait_for_notification};
use windlass_core::{Claim, Notification, Result, Watch};

use crate::backoff::Backoff;
use crate::boottime::{BootTime, Moment};
use crate::claims::{Asked, give_up};
use crate::lane::Lane;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::slots::Slot;

/// How long one claim waits for jobs; the store looks again at least every second within it.
const PARKED: Duration = Duration::from_secs(60);

/// Claims until the worker stops.
pub(crate) async fn run(shared: Arc<Shared>, lane: Arc<Lane>) {
    let mut fetch = Fetch {
        backoff: Backoff::default(),
        watch: None,
        shared: Arc::clone(&shared),
        lane,
    };
    loop {
        let phase = shared.stopper.until(|phase| *phase != Phase::Quiet).await;
        if phase >= Phase::Stopping {
            return;
        }
        let slot = tokio::select! {
            slot = shared.slots.acquire(fetch.lane.index) => slot,
            _ = shared.stopper.until(|phase| *phase != Phase::Working) => continue,
        };
        if let Err(error) = fetch.fetch(slot).await {
            shared.fail(error);
            return;
        }
    }
}

struct Fetch {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    backoff: Backoff,
    watch: Option<Box<dyn Watch>>,
}

impl Fetch {
    /// Fills the slots, waiting for jobs where there are none.
    async fn fetch(&mut self, mut slot: Slot) -> Result<()> {
        // Where there was more than was asked for there is more now; and who cannot wait must look.
        let is_drained = self.lane.is_drained.load(Ordering::Acquire);
        if !is_drained || !self.may_park() {
            let all = slot.count();
            let Some(unused) = self.claim(slot, Duration::ZERO).await? else {
                return Ok(());
            };
            if unused.count() < all {
                return Ok(());
            }
            slot = unused;
        }
        if !self.may_park() {
            // Nothing here: the other queues get the slots.
            drop(slot);
            return self.nap().await;
        }
        if !self.is_alone() {
            // All but the one to wait on.
            let one = slot.split(1);
            drop(std::mem::replace(&mut slot, one));
        }
        self.lane.holdings().park(true);
        let waited = self.claim(slot, PARKED).await;
        self.lane.holdings().park(false);
        waited.map(drop)
    }

    fn is_alone(&self) -> bool {
        self.shared.lanes.len() == 1
    }

    /// Whether each queue can keep a slot to wait on without starving the others.
    fn may_park(&self) -> bool {
        let options = &self.shared.options;
        self.is_alone() || options.concurrency + options.prefetch >= 2 * self.shared.lanes.len()
    }

    /// One claim, repeated until it is answered; gives back the slots that no job came for, unless
    /// the worker is to claim no more.
    async fn claim(&mut self, slot: Slot, wait: Duration) -> Result<Option<Slot>> {
        let lane = Arc::clone(&self.lane);
        let shared = Arc::clone(&self.shared);
        let mut asked = shared.ask(&lane, slot.count());
        let mut is_repeated = false;
        loop {
            let sent = Moment::now();
            let called = tokio::select! {
                called = lane.store().claim_waiting(lane.queue(), &mut asked.request, wait) => called,
                () = lane.look.notified() => {
                    is_repeated = true;
                    continue;
                }
                _ = shared.stopper.until(|phase| *phase != Phase::Working) => {
                    give_up(&lane, &asked);
                    return Ok(None);
                }
            };
            match called {
                Ok(claim) => {
                    self.backoff.reset();
                    if is_repeated && claim.is_none() {
                        // An earlier try may have been heard, and what it was handed is known no
                        // more if a later claim came between.
                        give_up(&lane, &asked);
                    }
                    // One that waited was made just now, not when it began to wait.
                    let since = if wait.is_zero() {
                        sent.time
                    } else {
                        BootTime::now()
                    };
                    let unused = started(&shared, &lane, &asked, claim, since, slot);
                    if is_repeated || sent.has_slept() {
                        // The lease may run since an earlier try, or since before the machine
                        // slept. Asked for only now: before, there was nothing to renew.
                        lane.hurry();
                    }
                    return Ok(Some(unused));
                }
                Err(error) if error.is_transient() => {
                    is_repeated = true;
                    if self.backoff.is_fresh() {
                        tracing::warn!(target: "windlass", queue = %lane.queue(), code = error.code(),
                            help = error.help(), "claim: {error}; trying again");
                    }
                    if !shared.stopper.pause(self.backoff.next()).await {
                        give_up(&lane, &asked);
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a hint, or the next look.
    async fn nap(&mut self) -> Result<()> {
        if self.watch.is_none() {
            let queue = self.lane.queue().clone();
            match self.lane.store().watch(&[queue]).await {
                Ok(watch) => self.watch = Some(watch),
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
            if self.watch.is_some() {
                // What came before the watch began gave no hint: look at once.
                return Ok(());
            }
        }
        let is_work =
            |hint: &Notification| matches!(hint, Notification::Work(_) | Notification::Resync);
        let nap = async {
            match &mut self.watch {
                Some(watch) => {
                    wait_for_notification(watch.as_mut(), poll_interval(), is_work).await
                }
                None => tokio::time::sleep(poll_interval()).await,
            }
        };
        tokio::select! {
            () = nap => {}
            _ = self.shared.stopper.until(|phase| *phase != Phase::Working) => {}
        }
        Ok(())
    }
}

fn started(
    shared: &Arc<Shared>,
    lane: &Arc<Lane>,
    asked: &Asked,
    claim: Option<Claim>,
    since: BootTime,
    mut slot: Slot,
) -> Slot {
    let count = claim.as_ref().map_or(0, |claim| claim.jobs.len());
    let taken = slot.split(count);
    shared.heard(lane, asked, claim, since, taken);
    slot
}
