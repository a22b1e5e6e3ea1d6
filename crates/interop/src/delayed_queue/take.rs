//! Takes jobs.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use tokio::time::Instant;
use windlass_core::{BootId, Result, Timestamp};
use windlass_redis_link::raw_client::RawScript;

use super::{DelayedQueue, script, text};
use crate::reply::{self, count};

static TAKE: LazyLock<RawScript> = script!("take.lua");

/// Maximum time of one blocking call. Longer waits are split, so that no connection is idle long
/// enough for a firewall to drop it.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A job that this process has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayedJob {
    /// The id, a ULID.
    pub id: String,
    /// The payload.
    pub payload: Bytes,
    /// When it was due. `None` if the original stored something that is not a time.
    pub due_time: Option<Timestamp>,
    /// When it was taken, in unix seconds.
    pub pickup_time: u64,
    /// Identifies the call that took it.
    pub ticket: String,
}

/// Which jobs to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakeFrom {
    /// The line of due jobs.
    Due,
    /// The line, then the backlog.
    Any,
}

/// Reply of the script.
enum TakeReply {
    Job(DelayedJob),
    Nothing,
    /// Only ids without a job so far; there may be jobs behind them.
    OnlyRemoved,
}

impl DelayedQueue {
    /// Takes the next due job, waiting up to `wait`. Ids without a job are removed.
    ///
    /// If the reply is lost, a job may be taken without the caller knowing;
    /// [`DelayedQueue::rescue`] returns it.
    pub async fn take(&self, wait: Duration) -> Result<Option<DelayedJob>> {
        self.take_from(TakeFrom::Due, wait).await
    }

    /// Takes a job. One from the backlog may not be due yet.
    pub(crate) async fn take_from(
        &self,
        from: TakeFrom,
        wait: Duration,
    ) -> Result<Option<DelayedJob>> {
        let until = Instant::now() + wait;
        let from = match from {
            TakeFrom::Due => "due",
            TakeFrom::Any => "any",
        };
        let ticket = BootId::generate().to_string();
        let args = vec![text(&ticket), text(from)];
        loop {
            let reply = self.run(&TAKE, args.clone()).await?;
            match parse(reply, &ticket)? {
                TakeReply::Job(job) => return Ok(Some(job)),
                TakeReply::OnlyRemoved => continue,
                TakeReply::Nothing => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let (client, list) = (&self.server.client, format!("{}:dueJobs", self.prefix));
            let (wait, args) = (left.min(WAIT_MAX), self.with_prefix(args.clone()));
            let reply = client.wait_then_run(list.as_bytes(), wait, &TAKE, Vec::new(), args);
            if let TakeReply::Job(job) = parse(reply.await?, &ticket)? {
                return Ok(Some(job));
            }
        }
    }
}

fn parse(reply: Value, ticket: &str) -> Result<TakeReply> {
    let mut parts = reply::list(reply)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    Ok(match reply::text(next())?.as_str() {
        "taken" => {
            let (id, payload) = (reply::text(next())?, reply::bytes(next())?);
            let recorded = parse_seconds(&reply::text(next())?);
            let pickup_time = count(&next())?;
            // The backlog decides when a job is due, not its record.
            let score = parse_seconds(&reply::text(next())?);
            TakeReply::Job(DelayedJob {
                id,
                payload,
                due_time: score.or(recorded),
                pickup_time,
                ticket: ticket.to_owned(),
            })
        }
        "more" => TakeReply::OnlyRemoved,
        _ => TakeReply::Nothing,
    })
}

/// Parses unix seconds, rounded up to whole milliseconds.
fn parse_seconds(seconds: &str) -> Option<Timestamp> {
    let ms = seconds.parse::<f64>().ok()? * 1000.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates"
    )]
    ms.is_finite()
        .then(|| Timestamp::from_ms(ms.ceil().max(0.0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_due_time_is_rounded_up_to_milliseconds() {
        let ms = |text| parse_seconds(text).map(Timestamp::as_ms);
        assert_eq!(ms("1700000000"), Some(1_700_000_000_000));
        assert_eq!(ms("1700000000.0001"), Some(1_700_000_000_001));
        assert_eq!(ms("-5"), Some(0));
        for invalid in ["", "undefined", "NaN", "inf"] {
            assert_eq!(ms(invalid), None, "{invalid}");
        }
    }
}
