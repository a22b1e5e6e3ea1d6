//! Scans keys or members of a set in pages, so that no command blocks the server for long.

use std::collections::BTreeSet;

use redis::{Value, cmd};
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
        let mut found = BTreeSet::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut command = match target {
                ScanTarget::Lists(pattern) => {
                    let mut command = cmd("SCAN");
                    command.arg(&cursor).arg("MATCH").arg(pattern);
                    command.arg("TYPE").arg("list");
                    command
                }
                ScanTarget::Members(set) => {
                    let mut command = cmd("SSCAN");
                    command.arg(set).arg(&cursor);
                    command
                }
            };
            command.arg("COUNT").arg(PAGE);
            let (next, names) = parse_page(self.client.ask(&command).await?)?;
            for name in names {
                found.insert(reply::text(name)?);
            }
            if next == "0" {
                return Ok(found);
            }
            cursor = next;
        }
    }
}

/// Parses a cursor and its page.
pub(super) fn parse_page(value: Value) -> Result<(String, Vec<Value>)> {
    let mut parts = reply::list(value)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    Ok((reply::text(next())?, reply::list(next())?))
}
