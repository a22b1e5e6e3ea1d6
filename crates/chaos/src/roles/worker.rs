//! A worker that mostly does its work, and otherwise everything a worker may do to a store.

mod renewer;
mod settle;

use std::time::{Duration, Instant};

use crate::event::Event;
use crate::{CLOCK_SLACK, LEASE, payload};
use clap::Args;
use fastrand::Rng;
use tokio::time::{sleep, timeout};
use windlass_core::{BootId, Claim, ClaimRequest, JobLease, NewWorker, Result};

use crate::roles::Scene;
use crate::roles::stop::Stop;
use renewer::Renewer;

/// The longest wait for a hint: leases of the dead end without one.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a claim waits that waits by itself: for more than one poll, and yet soon over.
const PARKED: Duration = Duration::from_millis(1_500);

/// How a worker is started.
#[derive(Debug, Args)]
pub struct Arguments {
    /// What people call it
    #[arg(long)]
    pub name: String,

    /// What its choices are drawn from
    #[arg(long)]
    pub seed: u64,

    /// Waits inside its claims in place of listening for hints
    #[arg(long)]
    pub parks: bool,
}

/// Works until it is asked to stop, then leaves.
pub async fn run(scene: Scene, arguments: Arguments, stop: &Stop) -> Result<()> {
    let boot = BootId::generate();
    scene.voice.say(Event::Boot(boot.clone()));
    let new = NewWorker {
        boot: boot.clone(),
        name: arguments.name,
        host: "here".to_owned(),
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        queues: vec![scene.queue.clone()],
    };
    scene.insist(|| scene.store.register(new.clone())).await?;
    let mut worker = Worker {
        renewer: Renewer::start(scene.clone(), boot.clone()),
        rng: Rng::with_seed(arguments.seed),
        boot,
        seq: 0,
        parks: arguments.parks,
        scene,
    };
    worker.work(stop).await?;
    let Worker { scene, boot, .. } = worker;
    scene.insist(|| scene.store.leave(&boot, None)).await?;
    Ok(())
}

struct Worker {
    scene: Scene,
    boot: BootId,
    seq: u64,
    parks: bool,
    rng: Rng,
    renewer: Renewer,
}

impl Worker {
    async fn work(&mut self, stop: &Stop) -> Result<()> {
        let Scene { store, queue, .. } = self.scene.clone();
        let mut watch = self
            .scene
            .insist(|| store.watch(std::slice::from_ref(&queue)))
            .await?;
        while !stop.is_asked() {
            match self.claim().await? {
                Some(claim) => self.handle(claim).await?,
                None if self.parks => {}
                // A hint or the end of the pause: both mean look again.
                None => drop(timeout(PAUSE, watch.next()).await),
            }
        }
        Ok(())
    }

    async fn claim(&mut self) -> Result<Option<Claim>> {
        self.seq += 1;
        let max = self.rng.usize(1..=5);
        let mut request = ClaimRequest::worker(self.boot.clone(), self.seq, max).lease(LEASE);
        self.scene.voice.say(Event::Claiming);
        let began = Instant::now();
        let claim = if self.parks {
            self.wait(&mut request).await?
        } else {
            self.ask(&request).await?
        };
        self.seq = request.claimer.seq();
        let Some(claim) = claim else {
            self.renewer.settled(self.seq, None);
            return Ok(None);
        };
        for job in &claim.jobs {
            let hold = JobLease::new(job.id.clone(), claim.token);
            self.scene.voice.say(Event::Claimed(hold));
            if job.payload != payload::of(&job.id) {
                self.scene
                    .voice
                    .fault(format!("the payload of {} is torn", job.id));
            }
        }
        match self.rng.u8(..30) {
            0 => {
                // As if the answer had been lost: the next renewal gives the jobs back.
                self.renewer.settled(self.seq, None);
                return Ok(None);
            }
            1 => self.claim_again(&request, &claim, began).await?,
            _ => {}
        }
        self.renewer.settled(self.seq, Some(claim.token));
        Ok(Some(claim))
    }

    async fn ask(&self, request: &ClaimRequest) -> Result<Option<Claim>> {
        let Scene { store, queue, .. } = &self.scene;
        self.scene
            .insist(|| store.claim(queue, request.clone()))
            .await
    }

    /// Waits for jobs; where that was cut short, the same claim is asked for again.
    async fn wait(&self, request: &mut ClaimRequest) -> Result<Option<Claim>> {
        let Scene { store, queue, .. } = &self.scene;
        loop {
            let call = store.claim_waiting(queue, request, PARKED);
            if let Some(answer) = self.scene.wait(PARKED, call).await? {
                return Ok(answer);
            }
        }
    }

    /// The same claim asked for once more is the same claim, for as long as its lease lasts.
    async fn claim_again(
        &self,
        request: &ClaimRequest,
        first: &Claim,
        began: Instant,
    ) -> Result<()> {
        let again = self.ask(request).await?;
        let is_same = again
            .as_ref()
            .is_some_and(|again| (again.token, &again.jobs) == (first.token, &first.jobs));
        let may_differ = self.scene.may_roll_back || began.elapsed() + CLOCK_SLACK >= LEASE;
        if !is_same && !may_differ {
            let what = format!("claimed {first:?}, repeated {again:?}");
            self.scene.voice.fault(what);
        }
        Ok(())
    }

    async fn handle(&mut self, claim: Claim) -> Result<()> {
        let long = LEASE * self.rng.u32(10..25) / 10;
        match self.rng.u8(..20) {
            0 => {
                // Past the end of its lease: others may have the jobs by now.
                self.renewer.pause(true);
                sleep(long).await;
            }
            // A long job: whoever had it before may come back while it is held.
            1 | 2 => sleep(long).await,
            _ => {}
        }
        for job in claim.jobs {
            if self.rng.bool() {
                sleep(Duration::from_millis(self.rng.u64(..15))).await;
            }
            let hold = JobLease::new(job.id, claim.token);
            settle::settle(&self.scene, &mut self.rng, hold).await?;
        }
        self.renewer.dropped(claim.token);
        self.renewer.pause(false);
        Ok(())
    }
}
