//! Acknowledges, returns and renews jobs.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use super::{DelayedJob, DelayedQueue, script, text};
use crate::reply;

static ACK: LazyLock<RawScript> = script!("ack.lua");
static NACK: LazyLock<RawScript> = script!("nack.lua");
static RENEW: LazyLock<RawScript> = script!("renew.lua");

/// Result of a call about a job that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckStatus {
    /// Done.
    Done,
    /// Nothing was changed: the job was returned or removed meanwhile.
    Gone,
}

/// Where a job that was not finished goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnTo {
    /// To the front of the line, because it was not tried. To the backlog if it is not due yet.
    Front,
    /// To the back of the line, as in the original.
    Back,
    /// To the backlog, due after this delay.
    Backlog(Duration),
}

impl DelayedQueue {
    /// Removes a finished job (`ack`).
    pub async fn ack(&self, job: &DelayedJob) -> Result<AckStatus> {
        self.end(&ACK, job, Vec::new()).await
    }

    /// Returns a job that was not finished (`nack`).
    pub async fn nack(&self, job: &DelayedJob, to: ReturnTo) -> Result<AckStatus> {
        let (destination, delay) = match to {
            ReturnTo::Front => ("front", Duration::ZERO),
            ReturnTo::Back => ("back", Duration::ZERO),
            ReturnTo::Backlog(delay) => ("after", delay),
        };
        let delay = Bytes::from(delay.as_secs_f64().to_string());
        self.end(&NACK, job, vec![text(destination), delay]).await
    }

    /// Sets the pickup time to now, so that no monitor returns the job.
    pub async fn renew(&self, job: &DelayedJob) -> Result<AckStatus> {
        let args = vec![text(&job.id), text(&job.ticket)];
        parse(self.run_repeating(&RENEW, args).await?)
    }

    async fn end(
        &self,
        script: &'static RawScript,
        job: &DelayedJob,
        more: Vec<Bytes>,
    ) -> Result<AckStatus> {
        let mut args = vec![text(&job.id), text(&job.ticket)];
        args.extend(more);
        parse(self.run(script, args).await?)
    }
}

fn parse(reply: redis::Value) -> Result<AckStatus> {
    Ok(match reply::text(reply)?.as_str() {
        "gone" => AckStatus::Gone,
        _ => AckStatus::Done,
    })
}
