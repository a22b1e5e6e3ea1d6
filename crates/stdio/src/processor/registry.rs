//! The workers of a processor in the store's own registry: who lives, in which groups, on what.

use windlass_api::Error;
use windlass_core::{
    BootId, Error as CoreError, Filter, Heartbeat, JobId, JobState, NewWorker, QueueName, Renewal,
    Result, Store, Timestamp, WorkerCommand, WorkerRecord,
};

use super::Processor;
use super::envelope::Origin;

/// How many jobs are looked at in one call.
const PAGE: usize = 500;

/// The worker a message comes from.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) boot: BootId,
    name: String,
    host: String,
}

impl Sender {
    /// Who says so in the envelope or, failing that, in the path of the topic.
    pub(super) fn of(origin: &Origin, path: Option<&str>) -> Result<Self> {
        let id = origin.uuid.as_deref().or(path).ok_or_else(|| {
            let help = "say who with \"service_uuid\"";
            CoreError::invalid("message", "it names no worker", help)
        })?;
        // It becomes a part of a topic.
        if !id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c))
        {
            let help = "use letters, digits, dot, underscore, colon and hyphen";
            return Err(CoreError::invalid(
                "service_uuid",
                "it is no plain word",
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
    /// What tells workers of this namespace from all others.
    pub(super) fn mark(&self) -> String {
        format!("processor:{}", self.options.publisher)
    }

    /// A worker as the store knows it.
    pub(super) async fn worker(&self, sender: &Sender) -> Result<Option<WorkerRecord>, Error> {
        let workers = self.store.workers().await?;
        let known = workers
            .into_iter()
            .find(|worker| worker.new.boot == sender.boot);
        match known {
            Some(worker) if worker.new.version != self.mark() => Err(Error::new(
                "conflict",
                format!("there is another worker {:?} already", sender.boot),
                "give each worker a service_uuid of its own",
            )),
            known => Ok(known),
        }
    }

    /// Notes that a worker lives and what it runs in a queue; what it holds in others is renewed.
    pub(super) async fn note(
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
        let is_member = queues.contains(queue);
        if is_member && self.store.heartbeat(heartbeat.clone()).await? != WorkerCommand::Reregister
        {
            return Ok(());
        }
        if !is_member {
            queues.push(queue.clone());
        }
        self.store.register(self.record(sender, queues)).await?;
        self.store.heartbeat(heartbeat).await?;
        Ok(())
    }

    fn record(&self, sender: &Sender, queues: Vec<QueueName>) -> NewWorker {
        NewWorker {
            boot: sender.boot.clone(),
            name: sender.name.clone(),
            host: sender.host.clone(),
            pid: 0,
            version: self.mark(),
            queues,
        }
    }

    /// Renews a job that a worker has accepted in another queue; it may be lost by now.
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

    /// All workers of this namespace, and the store's time: that of the processor's own heartbeat.
    pub(super) async fn group(&self) -> Result<(Vec<WorkerRecord>, Timestamp)> {
        let heartbeat = || Heartbeat {
            boot: self.me.clone(),
            running: Vec::new(),
        };
        if self.store.heartbeat(heartbeat()).await? == WorkerCommand::Reregister {
            self.store
                .register(NewWorker {
                    boot: self.me.clone(),
                    name: "processor".to_owned(),
                    host: self.options.identity.service_host.clone(),
                    pid: std::process::id(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    queues: Vec::new(),
                })
                .await?;
        }
        let mut workers = self.store.workers().await?;
        let own = workers.iter().find(|worker| worker.new.boot == self.me);
        let now = own.map(|worker| worker.last_seen).unwrap_or_default();
        workers.retain(|worker| worker.new.version == self.mark());
        Ok((workers, now))
    }

    /// Whether a worker has been silent for too long.
    pub(super) fn is_expired(&self, worker: &WorkerRecord, now: Timestamp) -> bool {
        now.since(worker.last_seen) >= self.options.worker_expiry
    }

    /// The jobs of a queue that a worker has, as it said, or as the queue says where it is new.
    pub(super) async fn held_by(
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

    /// Who has a job of the queue, offered or accepted.
    pub(super) async fn holders(&self, queue: &QueueName) -> Result<Vec<(BootId, JobId)>> {
        holders(self.store.as_ref(), queue).await
    }
}

async fn holders(store: &dyn Store, queue: &QueueName) -> Result<Vec<(BootId, JobId)>> {
    let filter = Filter {
        state: Some(JobState::Running),
        kind: None,
    };
    let (mut holders, mut from) = (Vec::new(), None);
    loop {
        let page = store.list(queue, &filter, from, PAGE).await?;
        let held = page.items.into_iter();
        holders.extend(held.filter_map(|job| Some((job.worker?, job.id))));
        from = page.next;
        if from.is_none() {
            return Ok(holders);
        }
    }
}
