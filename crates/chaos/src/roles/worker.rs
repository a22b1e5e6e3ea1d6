//! A worker that mostly completes jobs, and otherwise does everything a worker may do to a store.

mod outcome;
mod renewer;

use std::time::{Duration, Instant};

use crate::event::Event;
use crate::{CLOCK_SLACK, LEASE};
use clap::Args;
use fastrand::Rng;
use tokio::time::{sleep, timeout};
use windlass_core::limits::CLAIM_MAX;
use windlass_core::store::{NewWorker, Partitions};
use windlass_core::{BootId, Claim, ClaimRequest, JobLease, Result};

use crate::roles::ActorContext;
use crate::roles::stop::Stop;
use renewer::Renewer;

/// The longest wait for a notification; expired leases send none.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// How long a blocking claim waits: longer than one poll, but not long.
const BLOCKING_WAIT: Duration = Duration::from_millis(1_500);

/// Arguments of a worker.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Name of the worker
    #[arg(long)]
    pub name: String,

    /// Seed of its random choices
    #[arg(long)]
    pub seed: u64,

    /// Use blocking claims instead of watching for notifications
    #[arg(long)]
    pub blocking: bool,
}

/// Works until asked to stop, then leaves.
pub async fn run(context: ActorContext, arguments: Arguments, stop: &Stop) -> Result<()> {
    let boot = BootId::generate();
    context.events.log(Event::Boot(boot.clone()));
    let new = NewWorker {
        boot: boot.clone(),
        name: arguments.name,
        host: "here".to_owned(),
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        queues: vec![context.queue.clone()],
    };
    context
        .retry(|| context.store.register(new.clone()))
        .await?;
    let mut worker = Worker {
        renewer: Renewer::start(context.clone(), boot.clone()),
        rng: Rng::with_seed(arguments.seed),
        boot,
        seq: 0,
        blocking: arguments.blocking,
        context,
    };
    worker.work(stop).await?;
    let Worker { context, boot, .. } = worker;
    context.retry(|| context.store.leave(&boot, None)).await?;
    Ok(())
}

struct Worker {
    context: ActorContext,
    boot: BootId,
    seq: u64,
    blocking: bool,
    rng: Rng,
    renewer: Renewer,
}

impl Worker {
    async fn work(&mut self, stop: &Stop) -> Result<()> {
        let ActorContext { store, queue, .. } = self.context.clone();
        let mut watch = self
            .context
            .retry(|| store.watch(std::slice::from_ref(&queue)))
            .await?;
        while !stop.is_requested() {
            match self.claim().await? {
                Some(claim) => self.handle(claim).await?,
                None if self.blocking => {}
                // A notification or a timeout: claim again in both cases.
                None => drop(timeout(WAIT_MAX, watch.next()).await),
            }
        }
        Ok(())
    }

    async fn claim(&mut self) -> Result<Option<Claim>> {
        self.seq += 1;
        let max = match self.rng.u8(..10) {
            0 => CLAIM_MAX,
            _ => self.rng.usize(1..=5),
        };
        let request = ClaimRequest::worker(self.boot.clone(), self.seq, max);
        let mut request = request.lease(self.context.lease);
        self.context.events.log(Event::Claiming);
        let began = Instant::now();
        let claim = if self.blocking {
            self.wait(&mut request).await?
        } else {
            self.ask(&request).await?
        };
        self.seq = request.claimer.seq();
        let Some(claim) = claim else {
            self.renewer.claim_replied(self.seq, None);
            return Ok(None);
        };
        for job in &claim.jobs {
            let lease = JobLease::new(job.id.clone(), claim.token);
            self.context.claimed(lease, job);
        }
        match self.rng.u8(..30) {
            0 => {
                // As if the reply had been lost: the next renewal requeues the jobs.
                self.renewer.claim_replied(self.seq, None);
                return Ok(None);
            }
            1 => self.repeat_claim(&request, &claim, began).await?,
            _ => {}
        }
        self.renewer.claim_replied(self.seq, Some(claim.token));
        Ok(Some(claim))
    }

    async fn ask(&self, request: &ClaimRequest) -> Result<Option<Claim>> {
        let ActorContext { store, queue, .. } = &self.context;
        self.context
            .retry(|| store.claim(queue, request.clone()))
            .await
    }

    /// Waits for jobs; repeats the same claim after a transient error.
    async fn wait(&self, request: &mut ClaimRequest) -> Result<Option<Claim>> {
        let ActorContext { store, queue, .. } = &self.context;
        loop {
            let call = store.claim_waiting(queue, request, BLOCKING_WAIT);
            if let Some(reply) = self.context.wait(BLOCKING_WAIT, call).await? {
                return Ok(reply);
            }
        }
    }

    /// A repeated claim must return the same jobs while its lease lasts, unless the queue has partitions:
    /// one that is asked first may have got jobs since.
    async fn repeat_claim(
        &self,
        request: &ClaimRequest,
        first: &Claim,
        began: Instant,
    ) -> Result<()> {
        let again = self.ask(request).await?;
        let is_same = again
            .as_ref()
            .is_some_and(|again| (again.token, &again.jobs) == (first.token, &first.jobs));
        let may_differ =
            self.context.may_roll_back || began.elapsed() + CLOCK_SLACK >= self.context.lease.get();
        if is_same || may_differ {
            return Ok(());
        }
        let ActorContext { store, queue, .. } = &self.context;
        let settings = self.context.retry(|| store.settings(queue)).await?;
        if settings.partitions == Partitions::Fixed(1) {
            let what = format!("claimed {first:?}, repeated {again:?}");
            self.context.events.violation(what);
        }
        Ok(())
    }

    async fn handle(&mut self, claim: Claim) -> Result<()> {
        let long = self.context.lease.get() + LEASE * self.rng.u32(..15) / 10;
        match self.rng.u8(..20) {
            0 => {
                // Beyond the end of its lease: other workers may have the jobs by then.
                self.renewer.pause(true);
                sleep(long).await;
            }
            // A long job: its previous worker may report an outcome meanwhile.
            1 | 2 => sleep(long).await,
            _ => {}
        }
        for job in claim.jobs {
            if self.rng.bool() {
                sleep(Duration::from_millis(self.rng.u64(..15))).await;
            }
            let lease = JobLease::new(job.id, claim.token);
            outcome::report(&self.context, &mut self.rng, lease).await?;
        }
        self.renewer.remove(claim.token);
        self.renewer.pause(false);
        Ok(())
    }
}
