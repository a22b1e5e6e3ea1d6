//! A worker that mostly does its work, and otherwise everything a worker may do to a store.

mod renewer;
mod settle;

use std::time::{Duration, Instant};

use clap::Args;
use fastrand::Rng;
use tokio::time::{sleep, timeout};
use windlass_chaos::event::Event;
use windlass_chaos::{CLOCK_SLACK, LEASE, payload};
use windlass_core::{BootId, Claim, ClaimRequest, Hold, NewWorker, Result, Store};

use crate::roles::Scene;
use crate::roles::stop::Stop;
use renewer::Renewer;

/// The longest wait for a hint: leases of the dead end without one.
const PAUSE: Duration = Duration::from_millis(100);

/// How a worker is started.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What people call it
    #[arg(long)]
    name: String,

    /// What its choices are drawn from
    #[arg(long)]
    seed: u64,
}

/// Works until it is asked to stop, then leaves.
pub(crate) async fn run(scene: Scene, arguments: Arguments, stop: &Stop) -> Result<()> {
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
    scene
        .insist(async || scene.store.register(new.clone()).await)
        .await?;
    let mut worker = Worker {
        renewer: Renewer::start(scene.clone(), boot.clone()),
        rng: Rng::with_seed(arguments.seed),
        boot,
        seq: 0,
        scene,
    };
    worker.work(stop).await?;
    let Worker { scene, boot, .. } = worker;
    scene
        .insist(async || scene.store.leave(&boot, None).await)
        .await?;
    Ok(())
}

struct Worker {
    scene: Scene,
    boot: BootId,
    seq: u64,
    rng: Rng,
    renewer: Renewer,
}

impl Worker {
    async fn work(&mut self, stop: &Stop) -> Result<()> {
        let queues = std::slice::from_ref(&self.scene.queue);
        let mut watch = self.scene.store.watch(queues).await?;
        while !stop.is_asked() {
            match self.claim().await? {
                Some(claim) => self.handle(claim).await?,
                // A hint or the end of the pause: both mean look again.
                None => drop(timeout(PAUSE, watch.next()).await),
            }
        }
        Ok(())
    }

    async fn claim(&mut self) -> Result<Option<Claim>> {
        self.seq += 1;
        let max = self.rng.usize(1..=5);
        let request = ClaimRequest::worker(self.boot.clone(), self.seq, max).lease(LEASE);
        self.scene.voice.say(Event::Claiming);
        let began = Instant::now();
        let claim = self.ask(&request).await?;
        let Some(claim) = claim else {
            self.renewer.settled(self.seq, None);
            return Ok(None);
        };
        for job in &claim.jobs {
            let hold = Hold::new(job.id.clone(), claim.token);
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
            .insist(async || store.claim(queue, request.clone()).await)
            .await
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
        if !is_same && began.elapsed() + CLOCK_SLACK < LEASE {
            let what = format!("claimed {first:?}, repeated {again:?}");
            self.scene.voice.fault(what);
        }
        Ok(())
    }

    async fn handle(&mut self, claim: Claim) -> Result<()> {
        let stalls = self.rng.u8(..20) == 0;
        if stalls {
            // Past the end of its lease: others may have the jobs by now.
            self.renewer.pause(true);
            sleep(LEASE * self.rng.u32(10..25) / 10).await;
        }
        for job in claim.jobs {
            if self.rng.bool() {
                sleep(Duration::from_millis(self.rng.u64(..15))).await;
            }
            let hold = Hold::new(job.id, claim.token);
            settle::settle(&self.scene, &mut self.rng, hold).await?;
        }
        self.renewer.dropped(claim.token);
        self.renewer.pause(false);
        Ok(())
    }
}
