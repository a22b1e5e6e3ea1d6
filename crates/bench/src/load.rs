//! Load through the public interfaces: the client enqueues jobs, the worker runs them.

mod bulk;
mod paced;
mod single;
mod work;

use bytes::Bytes;

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
}
