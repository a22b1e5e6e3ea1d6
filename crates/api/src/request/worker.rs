//! Workers of any language: register, beat, leave; and what operators do with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{
    Beat as CoreBeat, BootId, Clock, Error, JobId, NewWorker, QueueName, Renewal, Result, Store,
    SystemClock, Timestamp, Token, Told,
};

use super::hold::lease;
use super::{Answer, StoreRequest};
use crate::problem::Problem;
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
    /// To be shown with every beat and claim.
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
pub struct Beat {
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
pub struct BeatReply {
    /// `continue`, `quiet`, `stop`, or `lost`: register again.
    pub told: &'static str,
    /// Jobs that should stop because somebody cancelled them.
    pub cancel: Vec<RunningReply>,
    /// Jobs whose lease is lost: stop them, their outcome will be refused.
    pub lost: Vec<RunningReply>,
}

impl StoreRequest for Beat {
    const OP: &'static str = "beat";
    type Reply = BeatReply;

    async fn answer(self, store: &dyn Store) -> Answer<BeatReply> {
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
        let told = store.beat(CoreBeat { boot, running }).await?;
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
        Ok(BeatReply {
            told: told.as_str(),
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
        let rescued = rescued.ok_or_else(|| Problem::no_worker(&boot))?;
        Ok(FailWorkerReply {
            id: boot.to_string(),
            rescued,
        })
    }
}

/// Leaves word for a worker's next beat.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tell {
    /// Who.
    pub worker: String,
    /// `continue`, `quiet` or `stop`.
    pub word: String,
}

/// What it will be told.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TellReply {
    /// The worker.
    pub id: String,
    /// The word.
    pub told: &'static str,
}

impl StoreRequest for Tell {
    const OP: &'static str = "tell";
    type Reply = TellReply;

    async fn answer(self, store: &dyn Store) -> Answer<TellReply> {
        let boot = BootId::new(&self.worker)?;
        let Some(told @ (Told::Continue | Told::Quiet | Told::Stop)) = Told::from_word(&self.word)
        else {
            let help = "say continue, quiet or stop";
            return Err(Error::invalid("word", "no worker knows it", help).into());
        };
        if !store.tell(&boot, told).await? {
            return Err(Problem::no_worker(&boot));
        }
        Ok(TellReply {
            id: boot.to_string(),
            told: told.as_str(),
        })
    }
}
