//! Load by the doors that users have: the client puts jobs in, the worker runs them.

mod bulk;
mod paced;
mod single;
mod work;

use bytes::Bytes;

pub(crate) use bulk::enqueue_bulk;
pub(crate) use paced::run_paced;
pub(crate) use single::{SINGLE_CALLERS, enqueue_singly};
pub(crate) use work::{Working, process};

/// The queue of a run.
pub(crate) const QUEUE: &str = "bench";

/// Deals so many jobs out, as evenly as can be; who gets none is left out.
pub(crate) fn shares(jobs: u64, parts: usize) -> impl Iterator<Item = u64> {
    let parts = parts.max(1) as u64;
    (0..parts)
        .map(move |part| jobs / parts + u64::from(part < jobs % parts))
        .filter(|share| *share > 0)
}

/// A payload of so many bytes.
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
