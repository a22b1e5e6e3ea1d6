//! The Processor Job Queue: its [dispatcher](Processor), and its own keys, for the bridge.
//!
//! A job that the bridge takes is dispatched, as to a worker that has not accepted it yet: if the
//! bridge is killed, the original returns it to the queue, and so does the next bridge.

mod dispatcher;

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use tokio::time::Instant;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use crate::{InteropServer, reply};

pub use dispatcher::{Identity, Log, Processor, ProcessorOptions, check_namespace};

/// The original's time limit for accepting a job, and for silent workers: three ticks.
pub const LEASE: Duration = Duration::from_secs(9);

/// Jobs per script call.
const PAGE: u64 = 500;

macro_rules! script {
    ($file:literal) => {
        LazyLock::new(|| {
            RawScript::new(&[
                include_str!("../lua/processor/lib/keys.lua"),
                include_str!(concat!("../lua/processor/", $file)),
            ])
        })
    };
}

static TAKE: LazyLock<RawScript> = script!("take.lua");
static RENEW: LazyLock<RawScript> = script!("renew.lua");
static FINISH: LazyLock<RawScript> = script!("finish.lua");
static REQUEUE: LazyLock<RawScript> = script!("requeue.lua");

/// One queue.
#[derive(Debug)]
pub(crate) struct ProcessorQueue {
    server: InteropServer,
    queue: String,
    lease: Duration,
    silence: Duration,
}

/// A job that is dispatched to this process.
#[derive(Debug)]
pub(crate) struct DispatchedJob {
    pub(crate) id: String,
    pub(crate) json: Bytes,
    /// Shows that no other process has it.
    pub(crate) score: String,
}

impl ProcessorQueue {
    /// Opens a queue. Accepted jobs without progress for `silence` belong to a dead worker.
    pub(crate) fn new(server: &InteropServer, queue: &str, silence: Duration) -> Self {
        Self {
            server: server.clone(),
            queue: queue.to_owned(),
            lease: LEASE.min(silence),
            silence,
        }
    }

    /// Takes the next job, waiting up to `wait`. Ids without a job are removed.
    pub(crate) async fn take(&self, wait: Duration) -> Result<Option<DispatchedJob>> {
        let until = Instant::now() + wait;
        let client = &self.server.client;
        let mut reply = client.run(&TAKE, Vec::new(), self.args(Vec::new())).await?;
        loop {
            let mut parts = reply::list(reply)?.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            match reply::text(next())?.as_str() {
                "taken" => {
                    return Ok(Some(DispatchedJob {
                        id: reply::text(next())?,
                        json: reply::bytes(next())?,
                        score: reply::text(next())?,
                    }));
                }
                "more" => {}
                _ if Instant::now() >= until => return Ok(None),
                _ => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            let (list, args) = (format!("jobs_queued:{}", self.queue), self.args(Vec::new()));
            reply = if left.is_zero() {
                client.run(&TAKE, Vec::new(), args).await?
            } else {
                let waiting = client.wait_then_run(list.as_bytes(), left, &TAKE, Vec::new(), args);
                waiting.await?
            };
        }
    }

    /// Returns the new score if this process still has the job.
    pub(crate) async fn renew(&self, id: &str, score: &str) -> Result<Option<String>> {
        let reply = self.run(&RENEW, vec![arg(id), arg(score)]).await?;
        let score = reply::maybe_bytes(reply)?;
        Ok(score.map(|score| String::from_utf8_lossy(&score).into_owned()))
    }

    /// Removes a job if this process still has it.
    pub(crate) async fn finish(&self, id: &str, score: &str) -> Result<()> {
        self.run(&FINISH, vec![arg(id), arg(score)]).await.map(drop)
    }

    /// Returns jobs of silent workers to the front of the queue. Returns how long until all jobs that
    /// are dispatched now are too old.
    pub(crate) async fn requeue(&self) -> Result<Duration> {
        loop {
            let args = vec![
                arg(&self.lease.as_secs_f64().to_string()),
                arg(&self.silence.as_secs_f64().to_string()),
                arg(&PAGE.to_string()),
            ];
            let args = self.args(args);
            let client = &self.server.client;
            let reply = client.run_idempotent(&REQUEUE, Vec::new(), args).await?;
            let reply = reply::list(reply)?;
            let mut parts = reply.iter();
            let mut next = || {
                let number = reply::number(parts.next().unwrap_or(&Value::Nil))?;
                Ok::<_, windlass_core::Error>(u64::try_from(number).unwrap_or(0))
            };
            let (returned, wait) = (next()?, next()?);
            if returned < PAGE {
                return Ok(Duration::from_millis(wait));
            }
        }
    }

    async fn run(&self, script: &'static RawScript, args: Vec<Bytes>) -> Result<Value> {
        let (client, args) = (&self.server.client, self.args(args));
        client.run(script, Vec::new(), args).await
    }

    /// Prepends the queue. Scripts build their keys from it.
    fn args(&self, mut args: Vec<Bytes>) -> Vec<Bytes> {
        args.insert(0, arg(&self.queue));
        args
    }
}

fn arg(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
