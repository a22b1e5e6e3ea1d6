//! Durable writes: runs a script, then waits on the same connection until replicas or the disk
//! confirm it.

use std::time::Duration;

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;
use windlass_core::{DurabilityLevel, Result};

use super::Inner;
use super::call::Call;
use super::check;
use super::retry::{CallRetry, Resend, Route};
use super::slot_of_call;
use crate::error::{CallError, Recovery};

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

/// Runs a script and waits for its confirmation, for at most half the timeout of a call. Returns
/// the level reached. A lower level than requested is not an error, since the script has run.
pub(super) async fn run(
    inner: &Inner,
    call: &Call,
    confirmation: Confirmation,
) -> Result<(Value, DurabilityLevel)> {
    let timeout = inner.address.timeout;
    let mut retry = CallRetry::new(inner, slot_of_call(call), timeout, Resend::Safe)
        .attempt_timeout(timeout * 3 / 4);
    loop {
        let error = match retry.route().await {
            Ok(route) => match run_at(&route, call, confirmation, retry.deadline()).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            },
            Err(error) => error,
        };
        retry.wait_after(error).await?;
    }
}

async fn run_at(
    route: &Route,
    call: &Call,
    confirmation: Confirmation,
    deadline: Instant,
) -> Result<(Value, DurabilityLevel), CallError> {
    let conn = route.node.dedicated(deadline).await?;
    let mut script = call.by_sha();
    loop {
        let mut cmds = Pipeline::with_capacity(3);
        if route.is_asking {
            cmds.cmd("ASKING");
        }
        cmds.add_command(script);
        let left = deadline.saturating_duration_since(Instant::now());
        cmds.add_command(confirmation.command(left * 2 / 3));
        let mut replies = conn.calls(&cmds, deadline).await?;
        let confirmed = replies.pop().unwrap_or(Value::Nil);
        let reply = CallError::check_reply(conn.server(), replies.pop().unwrap_or(Value::Nil));
        match reply {
            Err(error) if error.is_no_script => script = call.by_source(),
            Err(error) => {
                if error.recovery != Recovery::Unknown {
                    route.node.give_back(conn);
                }
                return Err(error);
            }
            Ok(value) => {
                route.node.give_back(conn);
                return Ok((value, confirmation.level(&confirmed)));
            }
        }
    }
}

impl Confirmation {
    /// Returns the command to send after the script.
    fn command(self, timeout: Duration) -> Cmd {
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
    fn level(self, confirmed: &Value) -> DurabilityLevel {
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
