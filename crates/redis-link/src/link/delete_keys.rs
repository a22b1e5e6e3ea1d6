//! Deletes keys by pattern with SCAN and UNLINK. Nothing else in this crate scans keys.

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;
use windlass_core::{Error, ErrorKind, Result};

use super::Inner;
use super::node::Node;
use super::retry::{CallRetry, Resend};
use crate::error::CallError;

/// COUNT of one SCAN.
const SCAN_COUNT: u32 = 500;

/// If this many full scans still find keys, another process is writing them.
const MAX_SCANS: u32 = 20;

/// Deletes every key that matches the pattern on every server and returns their number.
pub(super) async fn delete(inner: &Inner, pattern: &str) -> Result<u64> {
    let mut deleted = 0;
    let mut retry = None;
    for _ in 0..MAX_SCANS {
        match delete_once(inner, pattern, &mut deleted).await {
            Ok(0) => return Ok(deleted),
            Ok(_) => retry = None,
            Err(error) => {
                retry
                    .get_or_insert_with(|| {
                        CallRetry::new(inner, 0, inner.address.timeout, Resend::Safe)
                    })
                    .wait_after(error)
                    .await?;
            }
        }
    }
    Err(Error::new(
        ErrorKind::Conflict,
        format!("keys matching {pattern} are written as fast as they are deleted"),
        "stop the processes that use this store, then delete it again",
    ))
}

/// Scans every server once and returns the number of keys found.
async fn delete_once(inner: &Inner, pattern: &str, deleted: &mut u64) -> Result<usize, CallError> {
    let until = || Instant::now() + inner.address.timeout;
    let mut found = 0;
    for node in inner.topology.primaries(until()).await? {
        let mut cursor = "0".to_owned();
        loop {
            let (next, keys) = page(&node, &cursor, pattern, until()).await?;
            if !keys.is_empty() {
                found += keys.len();
                *deleted += unlink(&node, &keys, until()).await?;
            }
            if next == "0" {
                break;
            }
            cursor = next;
        }
    }
    Ok(found)
}

async fn page(
    node: &Node,
    cursor: &str,
    pattern: &str,
    until: Instant,
) -> Result<(String, Vec<Vec<u8>>), CallError> {
    let mut scan = Cmd::new();
    scan.arg("SCAN").arg(cursor);
    scan.arg("MATCH").arg(pattern).arg("COUNT").arg(SCAN_COUNT);
    let reply = node.shared(until).await?.call(&scan, until).await?;
    redis::from_redis_value(reply).map_err(|_| {
        CallError::unexpected_reply(node.name(), "the reply to SCAN is not a cursor and keys")
    })
}

/// Deletes keys with one command each: in a Cluster they are in different slots. The next scan finds
/// keys that moved to another node meanwhile.
async fn unlink(node: &Node, keys: &[Vec<u8>], until: Instant) -> Result<u64, CallError> {
    let mut cmds = Pipeline::with_capacity(keys.len());
    for key in keys {
        cmds.cmd("UNLINK").arg(&key[..]);
    }
    let replies = node.shared(until).await?.calls(&[&cmds], until).await?;
    let is_deleted = |reply: &&Value| matches!(reply, Value::Int(1));
    let deleted = replies.iter().filter(is_deleted).count();
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
