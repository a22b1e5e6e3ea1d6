//! Operations for administrators: facts about the servers, and deleting the whole store.

use windlass_core::Result;
use windlass_core::store::DurabilityLevel;
use windlass_redis_link::LinkAddress;
use windlass_redis_link::ServerInfo;

use crate::open::RedisStore;

/// Facts about a store and its servers.
#[derive(Debug)]
pub struct RedisInfo {
    /// Prefix of every key.
    pub prefix: String,
    /// The durability that the URL requests.
    pub requested: DurabilityLevel,
    /// Every primary.
    pub servers: Vec<ServerInfo>,
}

impl RedisStore {
    /// Queries every primary.
    pub async fn info(&self) -> Result<RedisInfo> {
        let address = self.link().address();
        Ok(RedisInfo {
            prefix: address.prefix.clone(),
            requested: address.durability,
            servers: self.link().info().await?,
        })
    }

    /// Deletes every queue, job and worker under the store's prefix and returns the number of keys
    /// deleted. The store must not be in use meanwhile; do not use this value afterwards.
    pub async fn remove_all(&self) -> Result<u64> {
        // Neither a prefix nor a brace contains a character with a meaning in a glob pattern.
        let pattern = format!("{}:{{*}}:*", self.link().address().prefix);
        self.link().delete_keys(&pattern).await
    }
}

/// Parses a URL, including its options, and returns the durability it requests. Errors never quote
/// the URL, because it may contain a password.
pub fn check_url(url: &str) -> Result<DurabilityLevel> {
    Ok(LinkAddress::parse(url)?.durability)
}
