//! Load through the public interfaces: the client enqueues jobs, the worker runs them.

mod bulk;
mod paced;
mod single;
mod work;

use bytes::Bytes;
use windlass::{Client, NewJob, Result};

pub(crate) use bulk::enqueue_bulk;
pub(crate) use paced::run_paced;
pub(crate) use single::{SINGLE_CALLERS, enqueue_singly};
pub(crate) use work::{RunningWorker, process};

/// The queue name.
pub(crate) const QUEUE: &str = "bench";

/// Splits jobs into up to `count` even shares, without empty ones.
pub(crate) fn shares(jobs: u64, count: usize) -> impl Iterator<Item = u64> {
    let count = count.max(1) as u64;
    (0..count)
        .map(move |index| jobs / count + u64::from(index < jobs % count))
        .filter(|share| *share > 0)
}

/// Splits jobs into batches, of which the last may be smaller.
pub(crate) fn batches(jobs: u64, batch: usize) -> impl Iterator<Item = u64> {
    let batch = batch.max(1) as u64;
    (0..jobs.div_ceil(batch)).map(move |at| batch.min(jobs - at * batch))
}

/// Enqueues jobs in one call.
pub(crate) async fn enqueue(client: &Client, jobs: Vec<NewJob>) -> Result<()> {
    enqueue_on(client, QUEUE, jobs).await
}

/// Like [`enqueue`], on another queue.
pub(crate) async fn enqueue_on(client: &Client, queue: &str, jobs: Vec<NewJob>) -> Result<()> {
    for enqueued in client.enqueue_many_raw(queue, jobs).await? {
        enqueued?;
    }
    Ok(())
}

/// A payload of `bytes` bytes.
pub(crate) fn payload(bytes: usize) -> Bytes {
    Bytes::from(vec![b'x'; bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_even_and_none_is_empty() {
        assert_eq!(shares(10, 4).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(shares(2, 4).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(shares(0, 4).count(), 0);
    }

    #[test]
    fn batches_are_full_except_the_last() {
        assert_eq!(batches(10, 4).collect::<Vec<_>>(), [4, 4, 2]);
        assert_eq!(batches(0, 4).count(), 0);
    }
}
