//! What operators ask of the servers themselves: facts about them, and to remove everything.

use windlass_core::{DurabilityLevel, Result};

use crate::address::Address;
use crate::link::ServerFacts;
use crate::open::RedisStore;

/// What is known of a store's servers.
#[derive(Debug)]
pub struct Facts {
    /// The first word of every key.
    pub prefix: String,
    /// How safe the URL asks a job to be before its enqueue is answered.
    pub asked: DurabilityLevel,
    /// Every server that is in charge of something.
    pub servers: Vec<ServerFacts>,
}

impl RedisStore {
    /// What the servers say of themselves.
    pub async fn facts(&self) -> Result<Facts> {
        let address = self.link().address();
        Ok(Facts {
            prefix: address.prefix.clone(),
            asked: address.durability.into(),
            servers: self.link().facts().await?,
        })
    }

    /// Removes every queue, job and worker under the store's prefix, page by page, and tells how many
    /// keys that were. Nobody may use the store meanwhile, and this value not afterwards.
    pub async fn remove_all(&self) -> Result<u64> {
        // A prefix has no character that means something in a pattern, and neither has a brace.
        let pattern = format!("{}:{{*}}:*", self.link().address().prefix);
        self.link().remove(&pattern).await
    }
}

/// Reads a URL down to its options and tells how safe it asks a job to be. The error repeats
/// nothing of it: it may hold a password.
pub fn check_url(url: &str) -> Result<DurabilityLevel> {
    Ok(Address::parse(url)?.durability.into())
}
