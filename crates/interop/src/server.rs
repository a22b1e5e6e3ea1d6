//! The server that keeps the keys of an older system.

use windlass_core::Result;
use windlass_store_redis::guest::Guest;

/// The server that keeps the keys of an older system; clones share its connections.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) guest: Guest,
}

impl Server {
    /// Connects to `redis://…`, `rediss://…`, `redis+unix://…` or `redis-sentinel://…`.
    pub async fn open(url: &str) -> Result<Self> {
        let guest = Guest::open(url).await?;
        Ok(Self { guest })
    }
}
