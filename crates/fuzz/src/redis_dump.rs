//! All keys of a queue in Redis, as a dump reads them.

use crate::fixture::block_on;

/// Dumps a queue with the keys in `data`: its state, or an error that the store is damaged.
pub fn run(data: &[u8]) {
    block_on(windlass_store_redis::fuzz::dump(data));
}
