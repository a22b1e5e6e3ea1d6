//! Groups of a queue. All jobs of a group are in one partition.

use std::sync::Arc;

use windlass_core::Result;
use windlass_core::store::{Cursor, GroupChange, GroupName, GroupRecord, Page};

use super::enqueue::partition_of_key;
use super::{Queue, all};
use crate::partition::Partition;

impl Queue {
    pub(crate) async fn set_group(
        &self,
        group: &GroupName,
        change: &GroupChange,
    ) -> Result<GroupRecord> {
        self.refresh().await?;
        self.partition_of_group(group)
            .set_group(group, change)
            .await
    }

    pub(crate) async fn group(&self, group: &GroupName) -> Result<Option<GroupRecord>> {
        self.refresh().await?;
        self.partition_of_group(group).group(group).await
    }

    pub(crate) async fn groups(
        &self,
        from: Option<GroupName>,
        limit: usize,
    ) -> Result<Page<GroupRecord>> {
        let pages = self.in_every(move |partition| {
            let from = from.clone();
            async move { partition.groups(from.as_ref(), limit).await }
        });
        // Beyond the end of a page, its partition may have more groups.
        let (mut items, mut end) = (Vec::new(), None::<GroupName>);
        for page in all(pages.await)? {
            if let Some(next) = page.next {
                end = Some(end.map_or_else(|| next.clone(), |end| end.min(next.clone())));
            }
            items.extend(page.records);
        }
        items.sort_by(|one: &GroupRecord, other| one.name.cmp(&other.name));
        let is_within = |record: &&GroupRecord| end.as_ref().is_none_or(|end| record.name <= *end);
        let within = items.iter().take_while(is_within).count();
        let next = if within > limit {
            items.get(limit - 1).map(|record| record.name.clone())
        } else {
            end
        };
        items.truncate(within.min(limit));
        Ok(Page {
            items,
            next: next.map(|name| Cursor(name.to_string())),
        })
    }

    /// Whether a partition has groups.
    pub(crate) async fn has_groups(&self) -> Result<bool> {
        let replies = self.in_every(|partition| async move { partition.has_groups().await });
        Ok(all(replies.await)?.contains(&true))
    }

    fn partition_of_group(&self, group: &GroupName) -> Arc<Partition> {
        let partitions = self.partitions();
        let count = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
        Arc::clone(&partitions[partition_of_key(group.as_str(), count)])
    }
}
