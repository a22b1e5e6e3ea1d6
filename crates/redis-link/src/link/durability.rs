//! Several scripts in one pipeline, and durable writes: waits on the same connection until replicas or the
//! disk confirm them.

use std::time::Duration;

use redis::{Cmd, Value};
use tokio::time::Instant;
use windlass_core::Result;
use windlass_core::store::DurabilityLevel;

use super::Inner;
use super::call::Call;
use super::check;
use super::conn::Conn;
use super::request::{Asking, BySource, Request};
use super::retry::{CallRetry, Resend, Route};
use super::slot_of_call;
use crate::error::CallError;
use crate::reply;
use crate::script::REFUSED;

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

/// Runs scripts in one pipeline, then waits once until all of them are confirmed, for at most half the timeout
/// of a call. Returns the replies, as far as there are any, and the level reached. A lower level than
/// requested is not an error, since the scripts have run.
///
/// After an error all of them are sent again: the new connection, or the new primary, may have none of
/// their writes to wait for.
pub(super) async fn run(
    inner: &Inner,
    calls: &[Call],
    confirmation: Option<Confirmation>,
    resend: Resend,
) -> (Vec<Value>, Result<DurabilityLevel>) {
    let timeout = inner.address.timeout;
    let slot = calls.first().map_or(0, slot_of_call);
    let mut retry = CallRetry::new(inner, slot, timeout, resend);
    if confirmation.is_some() {
        retry = retry.attempt_timeout(timeout * 3 / 4);
    }
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
    confirmation: Option<Confirmation>,
    retry: &CallRetry<'_>,
    replies: &mut Vec<Value>,
) -> Result<DurabilityLevel, CallError> {
    let (node, deadline) = (&route.node, retry.deadline());
    let conn = match confirmation {
        Some(_) => node.dedicated(deadline).await?,
        None => node.shared(deadline).await?,
    };
    let scripts = Scripts {
        calls,
        is_asking: route.is_asking,
        is_by_source: false,
    };
    let reached = scripts.run_on(&conn, confirmation, retry, replies).await;
    match confirmation {
        Some(_) => route.give_back(conn, &reached),
        None => route.keep(&conn, &reached),
    }
    reached
}

/// Scripts that are sent together.
pub(super) struct Scripts<'a> {
    pub(super) calls: &'a [Call],
    pub(super) is_asking: bool,
    /// Whether the server does not know them.
    pub(super) is_by_source: bool,
}

impl Scripts<'_> {
    /// Runs them and waits for the confirmation, if any. Sets `replies` to the replies up to the first that
    /// refuses the batch.
    pub(super) async fn run_on(
        mut self,
        conn: &Conn,
        confirmation: Option<Confirmation>,
        retry: &CallRetry<'_>,
        replies: &mut Vec<Value>,
    ) -> Result<DurabilityLevel, CallError> {
        loop {
            let deadline = if self.is_by_source {
                retry.deadline_by_source()
            } else {
                retry.deadline()
            };
            let mut sent = Vec::with_capacity(self.calls.len());
            for call in self.calls {
                let by_source = BySource(call);
                let script: &dyn Request = if self.is_by_source { &by_source } else { call };
                let requests = &[&Asking, script][usize::from(!self.is_asking)..];
                sent.push(conn.start(requests, deadline).await?);
            }
            replies.clear();
            let (mut failed, mut is_any_after) = (None, false);
            for call in sent {
                let reply = call.replies().await?.pop().unwrap_or(Value::Nil);
                match CallError::check_reply(conn.server(), reply) {
                    Ok(_) if failed.is_some() => is_any_after = true,
                    Ok(_) if replies.last().is_some_and(is_refused) => {}
                    Ok(reply) => replies.push(reply),
                    Err(error) => drop(failed.get_or_insert(error)),
                }
            }
            match failed {
                // What wrote nothing has nothing to wait for.
                None if replies
                    .last()
                    .is_some_and(|reply| reply::is_text(reply, REFUSED)) =>
                {
                    return Ok(DurabilityLevel::Memory);
                }
                None => return confirm(conn, confirmation, deadline).await,
                Some(error) if error.is_no_script && !self.is_by_source => self.is_by_source = true,
                // Nothing may claim that the whole batch was refused.
                Some(error) if is_any_after => {
                    let why = format!("a part of it failed: {}", error.into_error());
                    return Err(CallError::no_reply(conn.server(), why));
                }
                Some(error) => return Err(error),
            }
        }
    }
}

/// Waits until what this connection wrote is confirmed.
async fn confirm(
    conn: &Conn,
    confirmation: Option<Confirmation>,
    deadline: Instant,
) -> Result<DurabilityLevel, CallError> {
    let Some(confirmation) = confirmation else {
        return Ok(DurabilityLevel::Memory);
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let command = confirmation.command(left * 2 / 3);
    let confirmed = conn.start(&[&command], deadline).await?;
    let reply = confirmed.replies().await?.pop();
    Ok(confirmation.level(&reply.unwrap_or(Value::Nil)))
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
