//! Scans keys or members of a set.

use std::collections::BTreeSet;

use redis::cmd;
use windlass_core::Result;

use super::Worqr;
use crate::reply;

/// Approximate page size.
const PAGE: usize = 1000;

/// What to scan.
#[derive(Debug, Clone, Copy)]
pub(super) enum ScanTarget<'a> {
    /// Lists whose keys match this pattern.
    Lists(&'a str),
    /// Members of the set with this key.
    Members(&'a str),
}

impl Worqr {
    /// Returns everything that existed during the whole scan, sorted, without duplicates.
    pub(super) async fn scan(&self, target: ScanTarget<'_>) -> Result<BTreeSet<String>> {
        let page = |cursor: &str| {
            let mut command = match target {
                ScanTarget::Lists(pattern) => {
                    let mut command = cmd("SCAN");
                    command.arg(cursor).arg("MATCH").arg(pattern);
                    command.arg("TYPE").arg("list");
                    command
                }
                ScanTarget::Members(set) => {
                    let mut command = cmd("SSCAN");
                    command.arg(set).arg(cursor);
                    command
                }
            };
            command.arg("COUNT").arg(PAGE);
            command
        };
        let mut found = BTreeSet::new();
        let add = |name| {
            found.insert(reply::text(name)?);
            Ok(())
        };
        self.server.scan(page, add).await?;
        Ok(found)
    }
}
