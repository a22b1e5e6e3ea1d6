//! Who may claim how many: free slots go to the queues that want them, in the worker's order.
//!
//! A slot is handed to a queue before its claim and comes back when the job has ended, so that a
//! worker never holds more jobs than it has slots.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use windlass_core::limits::CLAIM_MAX;

use crate::options::{Options, Order};

/// All slots of a worker.
#[derive(Debug)]
pub(crate) struct Slots {
    state: Mutex<State>,
    wake: Vec<Notify>,
}

#[derive(Debug)]
struct State {
    order: Order,
    free: usize,
    lanes: Vec<Share>,
}

/// What one queue may still have.
#[derive(Debug)]
struct Share {
    weight: u32,
    free: usize,
    is_waiting: bool,
    granted: usize,
}

impl Slots {
    pub(crate) fn new(options: &Options) -> Arc<Self> {
        let all = options.concurrency + options.prefetch;
        let share = |limit: Option<usize>, weight| Share {
            weight,
            free: limit.unwrap_or(all).min(all),
            is_waiting: false,
            granted: 0,
        };
        let queues = &options.queues;
        Arc::new(Self {
            state: Mutex::new(State {
                order: options.order,
                free: all,
                lanes: queues
                    .iter()
                    .map(|source| share(source.concurrency, source.weight))
                    .collect(),
            }),
            wake: queues.iter().map(|_| Notify::new()).collect(),
        })
    }

    /// Waits for slots: as many as are free, at most one claim's worth.
    pub(crate) async fn acquire(self: &Arc<Self>, lane: usize) -> Slot {
        loop {
            {
                let mut state = self.lock();
                if !state.lanes[lane].is_waiting && state.lanes[lane].granted == 0 {
                    state.lanes[lane].is_waiting = true;
                    self.grant(&mut state);
                }
                let count = std::mem::take(&mut state.lanes[lane].granted);
                if count > 0 {
                    return self.slot(lane, count);
                }
            }
            self.wake[lane].notified().await;
        }
    }

    /// Gives slots back and takes what this queue may have at once, unless others come first.
    pub(crate) fn exchange(self: &Arc<Self>, lane: usize, returned: Slot) -> Slot {
        let mut returned = returned;
        let count = std::mem::take(&mut returned.count);
        let mut state = self.lock();
        state.give_back(lane, count);
        let was_waiting = std::mem::replace(&mut state.lanes[lane].is_waiting, true);
        let had = std::mem::take(&mut state.lanes[lane].granted);
        self.grant(&mut state);
        let share = &mut state.lanes[lane];
        let taken = std::mem::replace(&mut share.granted, had);
        if taken == 0 {
            share.is_waiting = was_waiting;
        } else if was_waiting {
            // Its fetch loop waits on, for what is free next.
            share.is_waiting = true;
        }
        self.slot(lane, taken)
    }

    fn slot(self: &Arc<Self>, lane: usize, count: usize) -> Slot {
        Slot {
            slots: Arc::clone(self),
            lane,
            count,
        }
    }

    fn grant(&self, state: &mut State) {
        while let Some(lane) = state.next() {
            let share = &mut state.lanes[lane];
            let count = state.free.min(share.free).min(CLAIM_MAX);
            share.free -= count;
            share.granted += count;
            share.is_waiting = false;
            state.free -= count;
            self.wake[lane].notify_one();
        }
    }

    fn release(&self, lane: usize, count: usize) {
        let mut state = self.lock();
        state.give_back(lane, count);
        self.grant(&mut state);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn give_back(&mut self, lane: usize, count: usize) {
        self.free += count;
        self.lanes[lane].free += count;
    }

    /// The queue that gets the free slots: the first that waits, or one drawn by weight.
    fn next(&self) -> Option<usize> {
        if self.free == 0 {
            return None;
        }
        let wants = |(_, share): &(usize, &Share)| share.is_waiting && share.free > 0;
        let mut waiting = self.lanes.iter().enumerate().filter(wants);
        match self.order {
            Order::Strict => waiting.next().map(|(lane, _)| lane),
            Order::Weighted => {
                let waiting: Vec<_> = waiting.collect();
                let total: u64 = waiting
                    .iter()
                    .map(|(_, share)| u64::from(share.weight))
                    .sum();
                let mut drawn = fastrand::u64(..total.max(1));
                waiting.into_iter().find_map(|(lane, share)| {
                    let weight = u64::from(share.weight);
                    let is_it = drawn < weight;
                    drawn = drawn.saturating_sub(weight);
                    is_it.then_some(lane)
                })
            }
        }
    }
}

/// Some slots of one queue; what is left of them comes back when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    lane: usize,
    count: usize,
}

impl Slot {
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Splits off up to `count` slots.
    pub(crate) fn split(&mut self, count: usize) -> Self {
        let count = count.min(self.count);
        self.count -= count;
        self.slots.slot(self.lane, count)
    }

    /// Joins slots of the same queue.
    pub(crate) fn join(&mut self, mut other: Self) {
        debug_assert_eq!(self.lane, other.lane);
        self.count += std::mem::take(&mut other.count);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.count > 0 {
            self.slots.release(self.lane, self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::QueueName;

    use super::*;
    use crate::options::Source;

    fn options(concurrency: usize, order: Order) -> Options {
        let source = |name| Source::new(QueueName::new(name).unwrap());
        let mut options = Options::new([source("first"), source("second")]);
        options.concurrency = concurrency;
        options.order = order;
        options
    }

    /// Whether the future is over at its first look.
    async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn never_more_slots_are_given_than_there_are() {
        let slots = Slots::new(&options(3, Order::Strict));

        let first = now(slots.acquire(0)).await.unwrap();

        assert_eq!(first.count(), 3);
        assert!(now(slots.acquire(1)).await.is_none());
        drop(first);
        assert_eq!(now(slots.acquire(1)).await.unwrap().count(), 3);
    }

    #[tokio::test]
    async fn a_strict_order_serves_the_first_queue_first() {
        let slots = Slots::new(&options(2, Order::Strict));
        let mut held = now(slots.acquire(1)).await.unwrap();
        assert!(now(slots.acquire(0)).await.is_none());

        // The second queue has jobs that end and would take more; the first one waits.
        let ended = held.split(1);
        let again = slots.exchange(1, ended);

        assert_eq!(again.count(), 0);
        assert_eq!(now(slots.acquire(0)).await.unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_queue_alone_gets_its_slots_back_at_once() {
        let slots = Slots::new(&options(2, Order::Strict));
        let mut held = now(slots.acquire(0)).await.unwrap();

        let again = slots.exchange(0, held.split(1));

        assert_eq!(again.count(), 1);
    }

    #[tokio::test]
    async fn weights_are_shares() {
        let mut options = options(1, Order::Weighted);
        options.queues[0].weight = 3;
        let slots = Slots::new(&options);
        let mut held = now(slots.acquire(0)).await.unwrap();
        let mut turns = [0, 0];
        for _ in 0..2_000 {
            for share in &mut slots.lock().lanes {
                share.is_waiting = true;
            }
            drop(held);
            let lane = usize::from(slots.lock().lanes[1].granted > 0);
            turns[lane] += 1;
            held = now(slots.acquire(lane)).await.unwrap();
        }
        assert!((1_300..1_700).contains(&turns[0]), "{turns:?}");
    }

    #[tokio::test]
    async fn a_queue_with_a_limit_leaves_the_rest_to_others() {
        let mut options = options(5, Order::Strict);
        options.queues[0].concurrency = Some(2);
        let slots = Slots::new(&options);

        let first = now(slots.acquire(0)).await.unwrap();
        let second = now(slots.acquire(1)).await.unwrap();

        assert_eq!((first.count(), second.count()), (2, 3));
    }
}
