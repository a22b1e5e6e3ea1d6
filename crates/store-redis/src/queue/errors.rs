//! The groups of errors of a queue: every partition has its own, and readers merge them.

use windlass_core::Result;
use windlass_core::store::{ErrorGroup, Fingerprint};

use super::{Queue, all};

impl Queue {
    pub(crate) async fn error_groups(&self) -> Result<Vec<ErrorGroup>> {
        let groups = self.in_every(|partition| async move { partition.error_groups().await });
        Ok(ErrorGroup::merge(all(groups.await)?.into_iter().flatten()))
    }

    pub(crate) async fn clear_error_group(&self, group: Fingerprint) -> Result<bool> {
        let cleared =
            self.in_every(move |partition| async move { partition.clear_error_group(group).await });
        Ok(all(cleared.await)?.contains(&true))
    }
}
