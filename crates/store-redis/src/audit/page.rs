//! The reply of an audit page.

use windlass_core::Result;
use windlass_core::store::Repair;
use windlass_redis_link::reply::Reply;

use super::repair;

#[derive(Debug)]
pub(super) struct Page {
    /// The next cursor; empty after the last page.
    pub(super) next: String,
    /// The number of members scanned.
    pub(super) scanned: u64,
    pub(super) repairs: Vec<Repair>,
    /// The rest of the reply, which depends on the script.
    pub(super) rest: Reply,
}

impl Page {
    pub(super) fn read(mut reply: Reply) -> Result<Self> {
        let next = reply.text()?;
        let scanned = reply.count()?;
        let count = reply.count()?;
        let mut repairs = Vec::new();
        for _ in 0..count {
            let code = reply.text()?;
            // Damaged values need not be text.
            let id = reply.bytes()?;
            let detail = reply.bytes()?;
            repairs.push(repair::repair(
                &code,
                &String::from_utf8_lossy(&id),
                &String::from_utf8_lossy(&detail),
            )?);
        }
        Ok(Self {
            next,
            scanned,
            repairs,
            rest: reply,
        })
    }
}
