//! Removes keys by a pattern, page by page: the only place that searches for keys.

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;
use windlass_core::{Error, ErrorKind, Result};

use super::Inner;
use super::node::Node;
use super::retry::{Repeat, Tries};
use crate::error::Fault;

/// Keys that the server looks at in one step.
const PAGE: u32 = 500;

/// After so many passes that still found keys, somebody else is writing them.
const PASSES: u32 = 20;

/// Removes every key that the pattern fits, from every server, until none is found.
pub(super) async fn remove(inner: &Inner, pattern: &str) -> Result<u64> {
    let mut removed = 0;
    let mut tries = None;
    for _ in 0..PASSES {
        match pass(inner, pattern, &mut removed).await {
            Ok(0) => return Ok(removed),
            Ok(_) => tries = None,
            Err(fault) => {
                tries
                    .get_or_insert_with(|| {
                        Tries::new(inner, 0, inner.address.timeout, Repeat::Safe)
                    })
                    .after(fault)
                    .await?;
            }
        }
    }
    Err(Error::new(
        ErrorKind::Conflict,
        format!("keys of {pattern} come back as fast as they are removed"),
        "end the processes that use this store, then remove it again",
    ))
}

/// Goes through every server once; tells how many keys it met.
async fn pass(inner: &Inner, pattern: &str, removed: &mut u64) -> Result<usize, Fault> {
    let until = || Instant::now() + inner.address.timeout;
    let mut met = 0;
    for node in inner.topology.primaries(until()).await? {
        let mut cursor = "0".to_owned();
        loop {
            let (next, keys) = page(&node, &cursor, pattern, until()).await?;
            if !keys.is_empty() {
                met += keys.len();
                *removed += unlink(&node, &keys, until()).await?;
            }
            if next == "0" {
                break;
            }
            cursor = next;
        }
    }
    Ok(met)
}

async fn page(
    node: &Node,
    cursor: &str,
    pattern: &str,
    until: Instant,
) -> Result<(String, Vec<Vec<u8>>), Fault> {
    let mut scan = Cmd::new();
    scan.arg("SCAN").arg(cursor);
    scan.arg("MATCH").arg(pattern).arg("COUNT").arg(PAGE);
    let answer = node.shared(until).await?.call(&scan, until).await?;
    redis::from_redis_value(answer)
        .map_err(|_| Fault::odd(node.name(), "the reply to SCAN is not a page"))
}

/// Removes keys one by one: in a Cluster they are of several slots. One that a slot took along to
/// another node is met there by the next pass.
async fn unlink(node: &Node, keys: &[Vec<u8>], until: Instant) -> Result<u64, Fault> {
    let mut cmds = Pipeline::with_capacity(keys.len());
    for key in keys {
        cmds.cmd("UNLINK").arg(&key[..]);
    }
    let answers = node.shared(until).await?.calls(&cmds, until).await?;
    let is_gone = |answer: &&Value| matches!(answer, Value::Int(1));
    let gone = answers.iter().filter(is_gone).count();
    Ok(u64::try_from(gone).unwrap_or(u64::MAX))
}
