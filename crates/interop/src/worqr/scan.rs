//! Goes through keys or the members of a set page by page, so that no step of the server is long.

use std::collections::BTreeSet;

use redis::{Value, cmd};
use windlass_core::Result;

use super::Worqr;
use crate::reply;

/// How many one page has, more or less.
const PAGE: usize = 1000;

/// What is gone through.
#[derive(Debug, Clone, Copy)]
pub(super) enum Search<'a> {
    /// The lists whose keys fit this pattern.
    Lists(&'a str),
    /// The members of a set.
    Members(&'a str),
}

impl Worqr {
    /// Everything that was there all the time, each once and in order.
    pub(super) async fn search(&self, search: Search<'_>) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut command = match search {
                Search::Lists(pattern) => {
                    let mut command = cmd("SCAN");
                    command.arg(&cursor).arg("MATCH").arg(pattern);
                    command.arg("TYPE").arg("list");
                    command
                }
                Search::Members(set) => {
                    let mut command = cmd("SSCAN");
                    command.arg(set).arg(&cursor);
                    command
                }
            };
            command.arg("COUNT").arg(PAGE);
            let (next, names) = page(self.guest.ask(&command).await?)?;
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

/// A cursor and what came with it.
pub(super) fn page(value: Value) -> Result<(String, Vec<Value>)> {
    let mut parts = reply::list(value)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    Ok((reply::text(next())?, reply::list(next())?))
}
