//! Workers of any language: register, heartbeat, leave; and what operators do with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{
    BootId, Clock, Error as CoreError, Heartbeat as CoreHeartbeat, JobId, NewWorker, QueueName,
    Renewal, Result, Store, SystemClock, Timestamp, Token, WorkerCommand,
};

use super::claim::lease;
use super::{Answer, StoreRequest};
use crate::error::Error;
use crate::worker::{RunningReply, WorkerReply};

/// Makes a worker known.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Register {
    /// Its id for this life; made up unless said.
    pub worker: Option<String>,
    pub name: Option<String>,
    pub host: Option<String>,
    pub pid: Option<u32>,
    pub version: Option<String>,
    pub queues: Vec<String>,
}

/// Under which id the worker is known.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RegisterReply {
    /// To be shown with every heartbeat and claim.
    pub worker: String,
}

impl StoreRequest for Register {
    const OP: &'static str = "register";
    type Reply = RegisterReply;

    async fn answer(self, store: &dyn Store) -> Answer<RegisterReply> {
        let boot = self
            .worker
            .map_or_else(|| Ok(BootId::generate()), BootId::new)?;
        let queues = self
            .queues
            .iter()
            .map(QueueName::new)
            .collect::<Result<_>>()?;
        let new = NewWorker {
            boot: boot.clone(),
            name: self.name.unwrap_or_else(|| "worker".to_owned()),
            host: self.host.unwrap_or_default(),
            pid: self.pid.unwrap_or_default(),
            version: self.version.unwrap_or_default(),
            queues,
        };
        store.register(new).await?;
        Ok(RegisterReply {
            worker: boot.to_string(),
        })
    }
}

/// Shows that a worker lives, and renews what it holds in the same call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Heartbeat {
    /// Who.
    pub worker: String,
    /// What it runs; each token is renewed.
    pub running: Vec<BeatJob>,
    /// For how long (30s unless said).
    pub lease: Option<String>,
}

/// A job a worker runs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BeatJob {
    /// Its queue.
    pub queue: String,
    /// The job.
    pub id: String,
    /// Renewed where it is given.
    pub token: Option<String>,
}

/// How the worker should go on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeartbeatReply {
    /// `continue`, `quiet`, `stop`, or `lost`: register again.
    pub command: &'static str,
    /// Jobs that should stop because somebody cancelled them.
    pub cancel: Vec<RunningReply>,
    /// Jobs whose lease is lost: stop them, their outcome will be refused.
    pub lost: Vec<RunningReply>,
}

impl StoreRequest for Heartbeat {
    const OP: &'static str = "heartbeat";
    type Reply = HeartbeatReply;

    async fn answer(self, store: &dyn Store) -> Answer<HeartbeatReply> {
        let boot = BootId::new(&self.worker)?;
        let lease = lease(self.lease.as_deref())?;
        let mut running = Vec::with_capacity(self.running.len());
        let mut claims: Vec<(QueueName, Token)> = Vec::new();
        for job in &self.running {
            let queue = QueueName::new(&job.queue)?;
            if let Some(token) = &job.token {
                claims.push((queue.clone(), token.parse()?));
            }
            running.push((queue, JobId::new(&job.id)?));
        }
        claims.sort();
        claims.dedup();
        let command = store.heartbeat(CoreHeartbeat { boot, running }).await?;
        let (mut cancel, mut lost) = (Vec::new(), Vec::new());
        for (queue, token) in claims {
            let renewed = store
                .renew(&queue, Renewal::Single { token }, lease)
                .await?;
            cancel.extend(renewed.cancel.iter().map(|id| reply(&queue, id.as_str())));
            if renewed.lost.contains(&token) {
                let is_its = |job: &&BeatJob| {
                    job.queue == queue.as_str() && job.token.as_deref() == Some(&token.to_string())
                };
                let jobs = self.running.iter().filter(is_its);
                lost.extend(jobs.map(|job| reply(&queue, &job.id)));
            }
        }
        Ok(HeartbeatReply {
            command: command.as_str(),
            cancel,
            lost,
        })
    }
}

fn reply(queue: &QueueName, id: &str) -> RunningReply {
    RunningReply {
        queue: queue.to_string(),
        id: id.to_owned(),
    }
}

/// Takes a worker off the record, in one queue or altogether.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Leave {
    /// Who.
    pub worker: String,
    /// Only this queue.
    pub queue_left: Option<String>,
}

/// How many jobs went back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeaveReply {
    /// How many.
    pub released: u64,
}

impl StoreRequest for Leave {
    const OP: &'static str = "leave";
    type Reply = LeaveReply;

    async fn answer(self, store: &dyn Store) -> Answer<LeaveReply> {
        let boot = BootId::new(&self.worker)?;
        let queue = self.queue_left.map(QueueName::new).transpose()?;
        let released = store.leave(&boot, queue.as_ref()).await?;
        Ok(LeaveReply { released })
    }
}

/// Workers that were seen lately.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workers {}

impl StoreRequest for Workers {
    const OP: &'static str = "workers";
    type Reply = Vec<WorkerReply>;

    async fn answer(self, store: &dyn Store) -> Answer<Vec<WorkerReply>> {
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let workers = store.workers().await?;
        Ok(workers
            .iter()
            .map(|worker| WorkerReply::new(worker, now))
            .collect())
    }
}

/// Declares a worker dead: its jobs go back now.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailWorker {
    /// Who.
    pub worker: String,
}

/// What went back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailWorkerReply {
    /// The worker.
    pub id: String,
    /// How many jobs.
    pub rescued: u64,
}

impl StoreRequest for FailWorker {
    const OP: &'static str = "fail_worker";
    type Reply = FailWorkerReply;

    async fn answer(self, store: &dyn Store) -> Answer<FailWorkerReply> {
        let boot = BootId::new(&self.worker)?;
        let rescued = store.fail_worker(&boot).await?;
        let rescued = rescued.ok_or_else(|| Error::no_worker(&boot))?;
        Ok(FailWorkerReply {
            id: boot.to_string(),
            rescued,
        })
    }
}

/// Queues a command for the worker's next heartbeat.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandWorker {
    /// Who.
    pub worker: String,
    /// `continue`, `pause` or `stop`.
    pub command: String,
}

/// The command that the next heartbeat will return.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandWorkerReply {
    /// The worker.
    pub id: String,
    /// The command.
    pub command: &'static str,
}

impl StoreRequest for CommandWorker {
    const OP: &'static str = "command";
    type Reply = CommandWorkerReply;

    async fn answer(self, store: &dyn Store) -> Answer<CommandWorkerReply> {
        let boot = BootId::new(&self.worker)?;
        let Some(command @ (WorkerCommand::Continue | WorkerCommand::Pause | WorkerCommand::Stop)) =
            WorkerCommand::from_text(&self.command)
        else {
            let expected = ["continue", "pause", "stop"];
            return Err(CoreError::unknown("command", &self.command, &expected).into());
        };
        if !store.command(&boot, command).await? {
            return Err(Error::no_worker(&boot));
        }
        Ok(CommandWorkerReply {
            id: boot.to_string(),
            command: command.as_str(),
        })
    }
}
