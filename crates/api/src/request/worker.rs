//! register, heartbeat, leave, workers, `fail_worker` and command.

use clap::Args;
use clap::builder::PossibleValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Heartbeat as CoreHeartbeat, NewWorker, WorkerCommand};
use windlass_core::{BootId, Error as CoreError, JobId, QueueName, Renewal, Result, Store, Token};

use super::claim::lease;
use super::{ApiResult, StoreRequest};
use crate::error::Error;
use crate::word::{self, Word};
use crate::worker::{RunningReply, WorkerReply};

/// Registers a worker.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Register {
    /// The worker id, which must be new for every start (default: generated).
    pub worker: Option<String>,
    /// A display name (default: `worker`).
    pub name: Option<String>,
    /// The host it runs on.
    pub host: Option<String>,
    /// The process id.
    pub pid: Option<u32>,
    /// The version of the worker.
    pub version: Option<String>,
    /// The queues it claims from.
    pub queues: Vec<String>,
}

/// The reply to register.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegisterReply {
    /// The worker id, required by heartbeat and leave.
    pub worker: String,
}

impl From<NewWorker> for Register {
    fn from(new: NewWorker) -> Self {
        Self {
            worker: Some(new.boot.to_string()),
            name: Some(new.name),
            host: Some(new.host),
            pid: Some(new.pid),
            version: Some(new.version),
            queues: new.queues.iter().map(ToString::to_string).collect(),
        }
    }
}

impl StoreRequest for Register {
    const OP: &'static str = "register";
    type Reply = RegisterReply;

    async fn execute(self, store: &dyn Store) -> ApiResult<RegisterReply> {
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

/// Reports that a worker is alive, and renews its leases in the same request.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Heartbeat {
    /// The worker id.
    pub worker: String,
    /// The running jobs. Each token is renewed.
    pub running: Vec<RunningJob>,
    /// The new lease (default: 30s).
    pub lease: Option<String>,
}

/// A job that a worker is running.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunningJob {
    /// The queue.
    pub queue: String,
    /// The job id.
    pub id: String,
    /// The token, to renew its lease. Optional.
    pub token: Option<String>,
}

/// The reply to heartbeat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatReply {
    /// `continue`, `pause` (claim no more jobs), `stop` (finish the running jobs and exit) or `reregister` (the worker is
    /// unknown: register again with a new id).
    #[serde(deserialize_with = "word::read")]
    pub command: Word,
    /// Jobs to stop, because their cancellation was requested.
    pub cancel: Vec<RunningReply>,
    /// Jobs whose lease is lost. Stop them: their outcome will be rejected.
    pub lost: Vec<RunningReply>,
}

impl StoreRequest for Heartbeat {
    const OP: &'static str = "heartbeat";
    type Reply = HeartbeatReply;

    async fn execute(self, store: &dyn Store) -> ApiResult<HeartbeatReply> {
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
                let is_lost = |job: &&RunningJob| {
                    job.queue == queue.as_str() && job.token.as_deref() == Some(&token.to_string())
                };
                let jobs = self.running.iter().filter(is_lost);
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

/// Removes a worker from one queue or entirely, and returns its jobs to the queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Leave {
    /// The worker id.
    pub worker: String,
    /// The queue to leave (default: all, which removes the worker).
    pub queue_left: Option<String>,
}

/// The reply to leave.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeaveReply {
    /// The number of jobs returned to the queue.
    pub released: u64,
}

impl StoreRequest for Leave {
    const OP: &'static str = "leave";
    type Reply = LeaveReply;

    async fn execute(self, store: &dyn Store) -> ApiResult<LeaveReply> {
        let boot = BootId::new(&self.worker)?;
        let queue = self.queue_left.map(QueueName::new).transpose()?;
        let released = store.leave(&boot, queue.as_ref()).await?;
        Ok(LeaveReply { released })
    }
}

/// Lists the workers seen in the last 24 hours.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Workers {}

impl StoreRequest for Workers {
    const OP: &'static str = "workers";
    type Reply = Vec<WorkerReply>;

    async fn execute(self, store: &dyn Store) -> ApiResult<Vec<WorkerReply>> {
        let workers = store.workers().await?;
        Ok(workers.iter().map(WorkerReply::new).collect())
    }
}

/// Declares a worker dead and returns its jobs to the queue now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct FailWorker {
    /// Worker id, as printed by `windlass workers`
    #[arg(value_name = "ID")]
    pub worker: String,
}

/// The reply to `fail_worker`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FailWorkerReply {
    /// The worker id.
    pub id: String,
    /// The number of jobs returned to the queue.
    pub rescued: u64,
}

impl StoreRequest for FailWorker {
    const OP: &'static str = "fail_worker";
    type Reply = FailWorkerReply;

    async fn execute(self, store: &dyn Store) -> ApiResult<FailWorkerReply> {
        let boot = BootId::new(&self.worker)?;
        let rescued = store.fail_worker(&boot).await?;
        let rescued = rescued.ok_or_else(|| Error::worker_not_found(&boot))?;
        Ok(FailWorkerReply {
            id: boot.to_string(),
            rescued,
        })
    }
}

/// Queues a command for the worker's next heartbeat.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct CommandWorker {
    /// Worker id, as printed by `windlass workers`
    #[arg(value_name = "ID")]
    pub worker: String,
    /// `continue`, `pause` or `stop`.
    #[arg(help = "Command to send", value_parser = COMMANDS.map(|(name, help)| {
        PossibleValue::new(name).help(help)
    }))]
    pub command: String,
}

/// The commands, and what a worker does.
const COMMANDS: [(&str, &str); 3] = [
    ("continue", "Claim jobs again"),
    ("pause", "Claim no more jobs; running ones continue"),
    ("stop", "Finish the running jobs and exit"),
];

/// The command that the next heartbeat will return.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CommandWorkerReply {
    /// The worker id.
    pub id: String,
    /// The command.
    #[serde(deserialize_with = "word::read")]
    pub command: Word,
}

impl StoreRequest for CommandWorker {
    const OP: &'static str = "command";
    type Reply = CommandWorkerReply;

    async fn execute(self, store: &dyn Store) -> ApiResult<CommandWorkerReply> {
        let boot = BootId::new(&self.worker)?;
        let Some(command @ (WorkerCommand::Continue | WorkerCommand::Pause | WorkerCommand::Stop)) =
            WorkerCommand::from_text(&self.command)
        else {
            let expected = COMMANDS.map(|(name, _)| name);
            return Err(CoreError::unknown("command", &self.command, &expected).into());
        };
        if !store.command(&boot, command).await? {
            return Err(Error::worker_not_found(&boot));
        }
        Ok(CommandWorkerReply {
            id: boot.to_string(),
            command: command.as_str(),
        })
    }
}
