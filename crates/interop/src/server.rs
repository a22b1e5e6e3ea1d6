//! The Redis server that holds the keys of an older system.

use windlass_core::Result;
use windlass_redis_link::raw_client::RawClient;

/// The Redis server that holds the keys of an older system. Clones share connections.
#[derive(Debug, Clone)]
pub struct InteropServer {
    pub(crate) client: RawClient,
}

impl InteropServer {
    /// Connects to `redis://…`, `rediss://…`, `redis+unix://…` or `redis-sentinel://…`.
    pub async fn open(url: &str) -> Result<Self> {
        let client = RawClient::open(url).await?;
        Ok(Self { client })
    }
}
