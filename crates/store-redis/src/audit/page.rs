//! What every page of an audit replies.

use windlass_core::{Repair, Result};

use super::repair;
use crate::reply::Reply;

/// One page.
#[derive(Debug)]
pub(super) struct Page {
    /// Where to go on; empty when this was the last.
    pub(super) next: String,
    /// How many members it looked at.
    pub(super) looked: u64,
    /// What was mended.
    pub(super) repairs: Vec<Repair>,
    /// What else it tells.
    pub(super) rest: Reply,
}

impl Page {
    pub(super) fn read(mut reply: Reply) -> Result<Self> {
        let next = reply.text()?;
        let looked = reply.count()?;
        let count = reply.count()?;
        let mut repairs = Vec::new();
        for _ in 0..count {
            let word = reply.text()?;
            // What a hand wrote need not be text.
            let id = reply.bytes()?;
            let detail = reply.bytes()?;
            repairs.push(repair::repair(
                &word,
                &String::from_utf8_lossy(&id),
                &String::from_utf8_lossy(&detail),
            )?);
        }
        Ok(Self {
            next,
            looked,
            repairs,
            rest: reply,
        })
    }
}
