//! Durable writes: runs scripts, then waits on the same connection until replicas or the disk confirm
//! them.

use std::time::Duration;

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;
use windlass_core::Result;
use windlass_core::store::DurabilityLevel;

use super::Inner;
use super::call::Call;
use super::check;
use super::conn::Conn;
use super::retry::{CallRetry, Resend, Route};
use super::slot_of_call;
use crate::error::CallError;

/// How a write is confirmed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Confirmation {
    /// By this many replicas (WAIT).
    Replicas(u32),
    /// By the server's append-only file (WAITAOF).
    LocalSync,
    /// The server syncs before it replies. Its settings are read after each write: a restart or a
    /// failover may have changed them.
    AlwaysSynced,
}

/// Runs scripts one after the other on one connection, then waits once until all of them are
/// confirmed, for at most half the timeout of a call. Returns the replies, as far as there are any,
/// and the level reached. A lower level than requested is not an error, since the scripts have run.
///
/// After an error all of them are sent again: the new connection, or the new primary, may have none of
/// their writes to wait for.
pub(super) async fn run(
    inner: &Inner,
    calls: &[Call],
    confirmation: Confirmation,
    resend: Resend,
) -> (Vec<Value>, Result<DurabilityLevel>) {
    let timeout = inner.address.timeout;
    let slot = calls.first().map_or(0, slot_of_call);
    let mut retry = CallRetry::new(inner, slot, timeout, resend).attempt_timeout(timeout * 3 / 4);
    let mut most = Vec::new();
    loop {
        let route = match retry.route().await {
            Ok(route) => route,
            Err(error) => return (most, Err(error)),
        };
        let mut replies = Vec::with_capacity(calls.len());
        let error = match run_at(&route, calls, confirmation, &retry, &mut replies).await {
            Ok(level) => return (replies, Ok(level)),
            Err(error) => error,
        };
        if replies.len() > most.len() {
            most = replies;
        }
        if let Err(error) = retry.wait_after(error).await {
            return (most, Err(error));
        }
    }
}

async fn run_at(
    route: &Route,
    calls: &[Call],
    confirmation: Confirmation,
    retry: &CallRetry<'_>,
    replies: &mut Vec<Value>,
) -> Result<DurabilityLevel, CallError> {
    let conn = route.node.dedicated(retry.deadline()).await?;
    let mut reached = Ok(DurabilityLevel::Memory);
    for (at, call) in calls.iter().enumerate() {
        let confirmation = (at + 1 == calls.len()).then_some(confirmation);
        let ran = run_on(
            &conn,
            route.is_asking,
            call,
            call.by_sha(),
            confirmation,
            retry,
        );
        reached = ran.await.map(|(reply, level)| {
            replies.push(reply);
            level
        });
        if reached.is_err() || replies.last().is_some_and(is_refused) {
            break;
        }
    }
    route.give_back(conn, &reached);
    reached
}

/// Runs one script, which `script` names or contains, and waits for the confirmation, if any.
pub(super) async fn run_on(
    conn: &Conn,
    is_asking: bool,
    call: &Call,
    mut script: Cmd,
    confirmation: Option<Confirmation>,
    retry: &CallRetry<'_>,
) -> Result<(Value, DurabilityLevel), CallError> {
    loop {
        let mut cmds = Pipeline::with_capacity(3);
        if is_asking {
            cmds.cmd("ASKING");
        }
        cmds.add_command(script);
        let deadline = retry.deadline();
        if let Some(confirmation) = confirmation {
            let left = deadline.saturating_duration_since(Instant::now());
            cmds.add_command(confirmation.command(left * 2 / 3));
        }
        let mut replies = conn.calls(&cmds, deadline).await?;
        let level = confirmation.map_or(DurabilityLevel::Memory, |confirmation| {
            confirmation.level(&replies.pop().unwrap_or(Value::Nil))
        });
        let reply = CallError::check_reply(conn.server(), replies.pop().unwrap_or(Value::Nil));
        match reply {
            Err(error) if error.is_no_script => script = call.by_source(),
            reply => return Ok((reply?, level)),
        }
    }
}

/// Whether a reply refuses the whole batch: the later scripts of the batch would be refused as well.
pub(super) fn is_refused(reply: &Value) -> bool {
    !matches!(reply, Value::Array(_))
}

impl Confirmation {
    /// Returns the command to send after the script.
    pub(super) fn command(self, timeout: Duration) -> Cmd {
        // A timeout of 0 would make Redis block forever.
        let ms = u64::try_from(timeout.as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        let mut cmd = Cmd::new();
        match self {
            Self::Replicas(count) => cmd.arg("WAIT").arg(count).arg(ms),
            Self::LocalSync => cmd.arg("WAITAOF").arg(1).arg(0).arg(ms),
            Self::AlwaysSynced => cmd.arg("CONFIG").arg("GET").arg(&check::SYNC_SETTINGS),
        };
        cmd
    }

    /// Returns the level that the reply to the command proves; an error proves nothing.
    pub(super) fn level(self, confirmed: &Value) -> DurabilityLevel {
        match (self, confirmed) {
            (Self::Replicas(wanted), Value::Int(count)) => match u32::try_from(*count) {
                Ok(count) if count > 0 => DurabilityLevel::Replicated(count.min(wanted)),
                _ => DurabilityLevel::Memory,
            },
            (Self::LocalSync, Value::Array(counts)) if matches!(counts.first(), Some(Value::Int(local)) if *local > 0) => {
                DurabilityLevel::Synced
            }
            (Self::AlwaysSynced, settings) => match redis::from_redis_value(settings.clone()) {
                Ok(settings) if check::is_synced_always(&settings) => DurabilityLevel::Synced,
                _ => DurabilityLevel::Memory,
            },
            _ => DurabilityLevel::Memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_reports_appendfsync_always_has_synced() {
        let level = |sync: &str, rewrite: &str| {
            let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
            let pairs = [
                ("appendonly", "yes"),
                ("appendfsync", sync),
                ("no-appendfsync-on-rewrite", rewrite),
            ];
            let pairs = pairs.map(|(name, value)| (text(name), text(value)));
            Confirmation::AlwaysSynced.level(&Value::Map(pairs.to_vec()))
        };
        assert_eq!(level("always", "no"), DurabilityLevel::Synced);
        assert_eq!(level("everysec", "no"), DurabilityLevel::Memory);
        assert_eq!(level("always", "yes"), DurabilityLevel::Memory);
        assert_eq!(
            Confirmation::AlwaysSynced.level(&Value::Map(vec![])),
            DurabilityLevel::Memory
        );
        assert_eq!(
            Confirmation::AlwaysSynced.level(&Value::Nil),
            DurabilityLevel::Memory
        );
    }

    #[test]
    fn only_what_was_counted_is_reported_as_reached() {
        let disk = |local| Value::Array(vec![Value::Int(local), Value::Int(0)]);
        for (confirmation, confirmed, level) in [
            (
                Confirmation::Replicas(2),
                Value::Int(0),
                DurabilityLevel::Memory,
            ),
            (
                Confirmation::Replicas(2),
                Value::Int(1),
                DurabilityLevel::Replicated(1),
            ),
            (
                Confirmation::Replicas(2),
                Value::Int(5),
                DurabilityLevel::Replicated(2),
            ),
            (
                Confirmation::Replicas(2),
                Value::Nil,
                DurabilityLevel::Memory,
            ),
            (Confirmation::Replicas(2), disk(1), DurabilityLevel::Memory),
            (Confirmation::LocalSync, disk(1), DurabilityLevel::Synced),
            (Confirmation::LocalSync, disk(0), DurabilityLevel::Memory),
            (
                Confirmation::LocalSync,
                Value::Int(1),
                DurabilityLevel::Memory,
            ),
            (
                Confirmation::LocalSync,
                Value::Array(vec![]),
                DurabilityLevel::Memory,
            ),
        ] {
            assert_eq!(
                confirmation.level(&confirmed),
                level,
                "{confirmation:?} {confirmed:?}"
            );
        }
    }
}
