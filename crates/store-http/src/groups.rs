//! Groups: changes and reads.

use windlass_api::GroupReply;
use windlass_api::request::{GetGroup, Groups, SetGroup};
use windlass_core::store::{Cursor, GroupChange, GroupName, GroupRecord, Page};
use windlass_core::{QueueName, Result};

use crate::remote::{RemoteStore, found};

impl RemoteStore {
    pub(crate) async fn send_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord> {
        let request = SetGroup::new(group, change);
        self.call(queue, request).await?.into_record()
    }

    pub(crate) async fn read_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
    ) -> Result<Option<GroupRecord>> {
        let group = group.to_string();
        let reply = found(self.call(queue, GetGroup { group }).await)?;
        reply.map(GroupReply::into_record).transpose()
    }

    pub(crate) async fn read_groups(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<GroupRecord>> {
        let request = Groups {
            limit: Some(limit),
            cursor: from.map(|from| from.0),
        };
        let reply = self.call(queue, request).await?;
        let records = reply.groups.into_iter().map(GroupReply::into_record);
        Ok(Page {
            items: records.collect::<Result<_>>()?,
            next: reply.next.map(Cursor),
        })
    }
}
