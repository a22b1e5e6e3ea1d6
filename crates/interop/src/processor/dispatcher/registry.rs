//! The workers of a processor in the worker registry of the store.

use windlass_api::{Code, Error};
use windlass_core::store::{Heartbeat, NewWorker, WorkerCommand, WorkerRecord};
use windlass_core::{
    BootId, Error as CoreError, Filter, JobId, JobState, QueueName, Renewal, Result, Store,
    Timestamp,
};

use super::Processor;
use super::envelope::Origin;

/// How many jobs are read per call.
const PAGE: usize = 500;

/// The worker that sent a message.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) boot: BootId,
    name: String,
    host: String,
}

impl Sender {
    /// Reads the worker id from the envelope or, if missing, from the topic.
    pub(super) fn new(origin: &Origin, path: Option<&str>) -> Result<Self> {
        let id = origin.uuid.as_deref().or(path).ok_or_else(|| {
            let help = "add \"service_uuid\":\"ID\"";
            CoreError::invalid("message", "missing worker id", help)
        })?;
        // The id is used in topics.
        if !id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c))
        {
            let help = "use letters, digits, dot, underscore, colon and hyphen";
            return Err(CoreError::invalid(
                "service_uuid",
                "it contains characters that are not allowed",
                help,
            ));
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Ok(Self {
            boot: BootId::new(id)?,
            name: text(&origin.name),
            host: text(&origin.host),
        })
    }
}

impl Processor {
    /// Returns the version text that identifies workers of this namespace.
    pub(super) fn version_tag(&self) -> String {
        format!("processor:{}", self.options.publisher)
    }

    /// Returns the record of a worker.
    pub(super) async fn worker(&self, sender: &Sender) -> Result<Option<WorkerRecord>, Error> {
        let workers = self.store.workers().await?;
        let known = workers
            .into_iter()
            .find(|worker| worker.new.boot == sender.boot);
        match known {
            Some(worker) if worker.new.version != self.version_tag() => Err(Error::new(
                Code::Conflict,
                format!(
                    "worker id {:?} is already used by another worker",
                    sender.boot
                ),
                "give each worker a unique service_uuid",
            )),
            known => Ok(known),
        }
    }

    /// Records that a worker is alive and which job it runs in a queue. Renews its jobs in other queues.
    pub(super) async fn record_heartbeat(
        &self,
        sender: &Sender,
        known: Option<WorkerRecord>,
        queue: &QueueName,
        job: Option<&JobId>,
    ) -> Result<()> {
        let (mut queues, mut running) = known
            .map(|worker| (worker.new.queues, worker.running))
            .unwrap_or_default();
        running.retain(|(other, _)| other != queue);
        for (other, id) in &running {
            self.renew(other, id, sender).await?;
        }
        running.extend(job.map(|id| (queue.clone(), id.clone())));
        let heartbeat = Heartbeat {
            boot: sender.boot.clone(),
            running,
        };
        let is_registered = queues.contains(queue);
        if is_registered
            && self.store.heartbeat(heartbeat.clone()).await? != WorkerCommand::Reregister
        {
            return Ok(());
        }
        if !is_registered {
            queues.push(queue.clone());
        }
        self.store.register(self.new_worker(sender, queues)).await?;
        self.store.heartbeat(heartbeat).await?;
        Ok(())
    }

    fn new_worker(&self, sender: &Sender, queues: Vec<QueueName>) -> NewWorker {
        NewWorker {
            boot: sender.boot.clone(),
            name: sender.name.clone(),
            host: sender.host.clone(),
            pid: 0,
            version: self.version_tag(),
            queues,
        }
    }

    /// Renews an accepted job of a worker in another queue, if the worker still has it.
    async fn renew(&self, queue: &QueueName, id: &JobId, sender: &Sender) -> Result<()> {
        let job = self.store.get(queue, id).await?;
        let Some(job) = job.filter(|job| job.worker.as_ref() == Some(&sender.boot)) else {
            return Ok(());
        };
        if let (Some(token), Some(_)) = (job.token, job.accepted_at) {
            let renewal = Renewal::Single { token };
            let lease = self.options.worker_expiry;
            self.store.renew(queue, renewal, lease).await?;
        }
        Ok(())
    }

    /// Returns all workers of this namespace, and the time of the store, taken from the processor's own
    /// heartbeat.
    pub(super) async fn workers_and_time(&self) -> Result<(Vec<WorkerRecord>, Timestamp)> {
        let heartbeat = || Heartbeat {
            boot: self.boot_id.clone(),
            running: Vec::new(),
        };
        if self.store.heartbeat(heartbeat()).await? == WorkerCommand::Reregister {
            self.store
                .register(NewWorker {
                    boot: self.boot_id.clone(),
                    name: "processor".to_owned(),
                    host: self.options.identity.service_host.clone(),
                    pid: std::process::id(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    queues: Vec::new(),
                })
                .await?;
        }
        let mut workers = self.store.workers().await?;
        let own = workers
            .iter()
            .find(|worker| worker.new.boot == self.boot_id);
        let now = own.map(|worker| worker.last_seen).unwrap_or_default();
        workers.retain(|worker| worker.new.version == self.version_tag());
        Ok((workers, now))
    }

    /// Returns whether a worker has been silent for too long.
    pub(super) fn is_expired(&self, worker: &WorkerRecord, now: Timestamp) -> bool {
        now.since(worker.last_seen) >= self.options.worker_expiry.get()
    }

    /// Returns the jobs a worker has in a queue: from its record or, if it has none, from the queue.
    pub(super) async fn jobs_of(
        &self,
        queue: &QueueName,
        sender: &Sender,
        known: Option<&WorkerRecord>,
    ) -> Result<Vec<JobId>> {
        let of_queue = |(running, id): &(QueueName, JobId)| (running == queue).then(|| id.clone());
        if let Some(worker) = known {
            return Ok(worker.running.iter().filter_map(of_queue).collect());
        }
        let holders = self.holders(queue).await?.into_iter();
        let own = holders.filter(|(holder, _)| *holder == sender.boot);
        Ok(own.map(|(_, id)| id).collect())
    }

    /// Returns the workers with an offered or accepted job of the queue, and the jobs.
    pub(super) async fn holders(&self, queue: &QueueName) -> Result<Vec<(BootId, JobId)>> {
        holders(self.store.as_ref(), queue).await
    }
}

async fn holders(store: &dyn Store, queue: &QueueName) -> Result<Vec<(BootId, JobId)>> {
    let filter = Filter {
        state: Some(JobState::Running),
        ..Filter::default()
    };
    let (mut holders, mut from) = (Vec::new(), None);
    loop {
        let page = store.list(queue, &filter, from, PAGE).await?;
        let jobs = page.items.into_iter();
        holders.extend(jobs.filter_map(|job| Some((job.worker?, job.id))));
        from = page.next;
        if from.is_none() {
            return Ok(holders);
        }
    }
}
