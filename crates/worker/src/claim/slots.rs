//! Distributes free slots to the queues that want to claim, in the worker's order.
//!
//! A queue acquires slots before it claims, and a slot is freed when its job ends, so that a worker
//! never holds more jobs than it has slots.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use windlass_core::limits::CLAIM_MAX;

use crate::lock::lock;
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
    queues: Vec<Share>,
}

/// The slots of one queue.
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
                queues: queues
                    .iter()
                    .map(|source| share(source.concurrency, source.weight))
                    .collect(),
            }),
            wake: queues.iter().map(|_| Notify::new()).collect(),
        })
    }

    /// Waits for free slots and takes as many as possible, at most one claim's worth.
    pub(crate) async fn acquire(self: &Arc<Self>, queue: usize) -> Slot {
        loop {
            {
                let mut state = lock(&self.state);
                if !state.queues[queue].is_waiting && state.queues[queue].granted == 0 {
                    state.queues[queue].is_waiting = true;
                    self.grant(&mut state);
                }
                let count = std::mem::take(&mut state.queues[queue].granted);
                if count > 0 {
                    return self.slot(queue, count);
                }
            }
            self.wake[queue].notified().await;
        }
    }

    /// Returns slots and takes those that this queue may have now, unless other queues come first.
    pub(crate) fn exchange(self: &Arc<Self>, queue: usize, mut returned: Slot) -> Slot {
        let count = std::mem::take(&mut returned.count);
        let mut state = lock(&self.state);
        state.free(queue, count);
        let was_waiting = std::mem::replace(&mut state.queues[queue].is_waiting, true);
        let had = std::mem::take(&mut state.queues[queue].granted);
        self.grant(&mut state);
        let share = &mut state.queues[queue];
        let taken = std::mem::replace(&mut share.granted, had);
        // A fetch loop that waited still does, for the next free slots.
        share.is_waiting = was_waiting;
        self.slot(queue, taken)
    }

    fn slot(self: &Arc<Self>, queue: usize, count: usize) -> Slot {
        Slot {
            slots: Arc::clone(self),
            queue,
            count,
        }
    }

    fn grant(&self, state: &mut State) {
        while let Some(queue) = state.next() {
            let share = &mut state.queues[queue];
            let count = state.free.min(share.free).min(CLAIM_MAX);
            share.free -= count;
            share.granted += count;
            share.is_waiting = false;
            state.free -= count;
            self.wake[queue].notify_one();
        }
    }

    fn release(&self, queue: usize, count: usize) {
        let mut state = lock(&self.state);
        state.free(queue, count);
        self.grant(&mut state);
    }
}

impl State {
    fn free(&mut self, queue: usize, count: usize) {
        self.free += count;
        self.queues[queue].free += count;
    }

    /// Picks the queue that gets the free slots: the first that waits, or a random one by weight.
    fn next(&self) -> Option<usize> {
        if self.free == 0 {
            return None;
        }
        let wants = |(_, share): &(usize, &Share)| share.is_waiting && share.free > 0;
        let mut waiting = self.queues.iter().enumerate().filter(wants);
        match self.order {
            Order::Strict => waiting.next().map(|(queue, _)| queue),
            Order::Weighted => {
                let waiting: Vec<_> = waiting.collect();
                let total: u64 = waiting
                    .iter()
                    .map(|(_, share)| u64::from(share.weight))
                    .sum();
                let mut drawn = fastrand::u64(..total.max(1));
                waiting.into_iter().find_map(|(queue, share)| {
                    let weight = u64::from(share.weight);
                    let is_it = drawn < weight;
                    drawn = drawn.saturating_sub(weight);
                    is_it.then_some(queue)
                })
            }
        }
    }
}

/// Slots acquired by one queue; dropping this frees them.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    queue: usize,
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
        self.slots.slot(self.queue, count)
    }

    /// Joins slots of the same queue.
    pub(crate) fn join(&mut self, mut other: Self) {
        debug_assert_eq!(self.queue, other.queue);
        self.count += std::mem::take(&mut other.count);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.count > 0 {
            self.slots.release(self.queue, self.count);
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

    /// The future's output if it is ready on the first poll.
    async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn never_more_slots_are_granted_than_exist() {
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

        // A job of the second queue ends and would claim again, but the first queue waits.
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
            for share in &mut lock(&slots.state).queues {
                share.is_waiting = true;
            }
            drop(held);
            let queue = usize::from(lock(&slots.state).queues[1].granted > 0);
            turns[queue] += 1;
            held = now(slots.acquire(queue)).await.unwrap();
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
