//! The groups of errors in one partition: read and clear them.

use bytes::Bytes;
use windlass_core::store::{ErrorGroup, Fingerprint, Kind};
use windlass_core::{Result, Timestamp};
use windlass_redis_link::reply;

use crate::codec::error_group;
use crate::partition::Partition;

impl Partition {
    pub(crate) async fn error_groups(&self) -> Result<Vec<ErrorGroup>> {
        let mut reply = self
            .run_list(&self.scripts().errors_list, Vec::new())
            .await?;
        let now = Timestamp::from_ms(reply.count()?);
        let mut groups = Vec::new();
        while !reply.is_empty() {
            let (name, record) = (reply.bytes()?, reply.bytes()?);
            groups.push(error_group::read(&name, &record, now)?);
        }
        Ok(groups)
    }

    pub(crate) async fn clear_error_group(&self, group: Fingerprint) -> Result<bool> {
        let groups = self.error_groups().await?;
        let Some(group) = groups.iter().find(|one| one.fingerprint() == group) else {
            return Ok(false);
        };
        let kind = group.kind.as_ref().map_or("", Kind::as_str);
        let name = Bytes::from(format!("{kind}\t{}", group.message));
        let reply = self
            .run_confirmed(&self.scripts().errors_clear, vec![name])
            .await?;
        Ok(reply::int(&reply)? > 0)
    }
}
