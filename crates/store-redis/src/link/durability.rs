//! Writes that are answered only when they are as safe as was asked: behind the script, on the
//! same connection, waits the command that covers it.

use std::time::Duration;

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;
use windlass_core::{DurabilityLevel, Result};

use super::Inner;
use super::call::Call;
use super::check;
use super::retry::{Repeat, Route, Tries};
use super::slot_of_call;
use crate::error::{Course, Fault};

/// What has to happen before an answer counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cover {
    /// This many replicas have it.
    Replicas(u32),
    /// The server's disk has it.
    Disk,
    /// The server syncs before it answers. It says so again behind each write: it may have been
    /// restarted with other settings, or be another one since a failover.
    Always,
}

/// Runs a script and waits until it is covered, or for half the time a call may take. The level
/// reached is told; less than was asked is no error, since the script has run.
pub(super) async fn run(
    inner: &Inner,
    call: &Call,
    cover: Cover,
) -> Result<(Value, DurabilityLevel)> {
    let timeout = inner.address.timeout;
    let mut tries =
        Tries::new(inner, slot_of_call(call), timeout, Repeat::Safe).lasting(timeout * 3 / 4);
    loop {
        let fault = match tries.route().await {
            Ok(route) => match run_at(&route, call, cover, tries.limit()).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        tries.after(fault).await?;
    }
}

async fn run_at(
    route: &Route,
    call: &Call,
    cover: Cover,
    limit: Instant,
) -> Result<(Value, DurabilityLevel), Fault> {
    let conn = route.node.own(limit).await?;
    let mut script = call.by_sha();
    loop {
        let mut cmds = Pipeline::with_capacity(3);
        if route.is_asking {
            cmds.cmd("ASKING");
        }
        cmds.add_command(script);
        let left = limit.saturating_duration_since(Instant::now());
        cmds.add_command(cover.wait(left * 2 / 3));
        let mut answers = conn.calls(&cmds, limit).await?;
        let covered = answers.pop().unwrap_or(Value::Nil);
        let answer = Fault::in_value(conn.server(), answers.pop().unwrap_or(Value::Nil));
        match answer {
            Err(fault) if fault.is_no_script => script = call.by_text(),
            Err(fault) => {
                if fault.course != Course::Unknown {
                    route.node.give_back(conn);
                }
                return Err(fault);
            }
            Ok(value) => {
                route.node.give_back(conn);
                return Ok((value, cover.reached(&covered)));
            }
        }
    }
}

impl Cover {
    fn wait(self, patience: Duration) -> Cmd {
        // Redis waits for ever when it is asked to wait for no time.
        let ms = u64::try_from(patience.as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        let mut cmd = Cmd::new();
        match self {
            Self::Replicas(count) => cmd.arg("WAIT").arg(count).arg(ms),
            Self::Disk => cmd.arg("WAITAOF").arg(1).arg(0).arg(ms),
            Self::Always => cmd.arg("CONFIG").arg("GET").arg(&check::SYNC_SETTINGS),
        };
        cmd
    }

    /// The level that the answer of the covering command shows; an error shows none.
    fn reached(self, covered: &Value) -> DurabilityLevel {
        match (self, covered) {
            (Self::Replicas(wanted), Value::Int(count)) => match u32::try_from(*count) {
                Ok(count) if count > 0 => DurabilityLevel::Replicated(count.min(wanted)),
                _ => DurabilityLevel::Memory,
            },
            (Self::Disk, Value::Array(counts)) if matches!(counts.first(), Some(Value::Int(local)) if *local > 0) => {
                DurabilityLevel::Synced
            }
            (Self::Always, settings) => match redis::from_redis_value(settings.clone()) {
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
    fn only_a_server_that_says_it_syncs_always_has_synced() {
        let told = |sync: &str, rewrite: &str| {
            let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
            let pairs = [
                ("appendonly", "yes"),
                ("appendfsync", sync),
                ("no-appendfsync-on-rewrite", rewrite),
            ];
            let pairs = pairs.map(|(name, value)| (text(name), text(value)));
            Cover::Always.reached(&Value::Map(pairs.to_vec()))
        };
        assert_eq!(told("always", "no"), DurabilityLevel::Synced);
        assert_eq!(told("everysec", "no"), DurabilityLevel::Memory);
        assert_eq!(told("always", "yes"), DurabilityLevel::Memory);
        assert_eq!(
            Cover::Always.reached(&Value::Map(vec![])),
            DurabilityLevel::Memory
        );
        assert_eq!(Cover::Always.reached(&Value::Nil), DurabilityLevel::Memory);
    }

    #[test]
    fn only_what_was_counted_is_told_as_reached() {
        let disk = |local| Value::Array(vec![Value::Int(local), Value::Int(0)]);
        for (cover, covered, level) in [
            (Cover::Replicas(2), Value::Int(0), DurabilityLevel::Memory),
            (
                Cover::Replicas(2),
                Value::Int(1),
                DurabilityLevel::Replicated(1),
            ),
            (
                Cover::Replicas(2),
                Value::Int(5),
                DurabilityLevel::Replicated(2),
            ),
            (Cover::Replicas(2), Value::Nil, DurabilityLevel::Memory),
            (Cover::Replicas(2), disk(1), DurabilityLevel::Memory),
            (Cover::Disk, disk(1), DurabilityLevel::Synced),
            (Cover::Disk, disk(0), DurabilityLevel::Memory),
            (Cover::Disk, Value::Int(1), DurabilityLevel::Memory),
            (Cover::Disk, Value::Array(vec![]), DurabilityLevel::Memory),
        ] {
            assert_eq!(cover.reached(&covered), level, "{cover:?} {covered:?}");
        }
    }
}
