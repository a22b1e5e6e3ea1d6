//! A value that Redis stores: the first byte selects its kind, the rest is the value.

/// Decodes `data`: a value, or an error that the store is damaged.
pub fn run(data: &[u8]) {
    windlass_store_redis::fuzz::decode(data);
}
