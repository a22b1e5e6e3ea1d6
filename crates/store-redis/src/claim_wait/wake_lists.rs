//! Blocks on the wake-ups of a queue with several partitions, in tasks: a blocked command cannot be
//! withdrawn, so the next waiter uses it, or another process gets its wake-up.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use windlass_core::wait::POLL_MAX;

use super::waiters::Waiters;
use crate::queue::Queue;

/// Blocks on the wake-ups of every partition: on a Cluster, where each is in another slot, with one
/// connection per partition; elsewhere with one connection.
pub(super) fn watch(queue: &Queue, waiters: &Arc<Waiters>, count: usize) {
    let numbers = waiters.start_watching(count);
    let at_once = if queue.is_on_cluster() {
        1
    } else {
        numbers.len().max(1)
    };
    for numbers in numbers.chunks(at_once) {
        if let Some(queue) = queue.to_arc() {
            tokio::spawn(block_on(queue, Arc::clone(waiters), numbers.to_vec()));
        }
    }
}

/// Blocks on the wake-ups of these partitions while somebody waits for them.
async fn block_on(queue: Arc<Queue>, waiters: Arc<Waiters>, numbers: Vec<usize>) {
    let partitions = queue.partitions();
    let list = |number: &usize| partitions[*number].keys.one("wake");
    let lists: Vec<Bytes> = numbers.iter().map(list).collect();
    loop {
        match partitions[0].link().pop(&lists, POLL_MAX).await {
            Ok(None) => {}
            Ok(Some(at)) if waiters.woken(numbers[at]) => {}
            Ok(Some(at)) => partitions[numbers[at]].push_wake_up().await,
            // The reply is lost, and with it perhaps a wake-up.
            Err(error) if error.is_unknown() => waiters.forget(&numbers),
            Err(error) => return waiters.fail_watch(&numbers, error),
        }
        if waiters.stop_watching(&numbers) {
            return;
        }
    }
}

/// Puts wake-ups of these partitions back, for other processes.
pub(super) fn put_back(queue: Weak<Queue>, numbers: Vec<usize>) {
    // Without a runtime this process ends: other waiters find the jobs when they poll.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    runtime.spawn(async move {
        if let Some(queue) = queue.upgrade() {
            for number in numbers {
                queue.partitions()[number].push_wake_up().await;
            }
        }
    });
}
