//! `windlass demo-worker`: one worker process of the demo. Not meant to be typed.

use std::time::Duration;

use clap::Args;
use tokio::io::AsyncReadExt;
use windlass::{
    BootId, Claim, ClaimRequest, Completion, Existing, Hold, NewWorker, QueueName, Renewal, Store,
    StoreUrl, Token,
};

use super::crew::HOLDING;
use super::plan::Ask;
use crate::exit::{Exit, Failure, Result};
use crate::session::Session;
use crate::settings::STORE_VARIABLE;

/// Short, so that the killed worker's jobs come back while one watches.
const LEASE: Duration = Duration::from_secs(1);

/// Jobs taken with one claim.
const BATCH: usize = 100;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    queue: String,
}

/// Works until standard input closes.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    // What the demo said, and nothing that the file in this folder says.
    let url: StoreUrl = std::env::var(STORE_VARIABLE).unwrap_or_default().parse()?;
    let store = windlass::open(&url, Existing::Required).await?;
    let boot = BootId::generate();
    store.register(record(&boot, &queue)).await?;
    let mut worker = Worker {
        store: store.as_ref(),
        queue,
        boot: boot.clone(),
        seq: 0,
    };
    tokio::select! {
        failed = worker.work(session) => failed?,
        () = closed_stdin() => {}
    }
    store.leave(&boot, None).await?;
    Ok(Exit::Ok)
}

fn record(boot: &BootId, queue: &QueueName) -> NewWorker {
    NewWorker {
        boot: boot.clone(),
        name: "demo".to_owned(),
        host: "localhost".to_owned(),
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        queues: vec![queue.clone()],
    }
}

async fn closed_stdin() {
    // Nothing is ever written to it: it ends when the demo ends or dies.
    let _ = tokio::io::stdin().read(&mut [0]).await;
}

struct Worker<'a> {
    store: &'a dyn Store,
    queue: QueueName,
    boot: BootId,
    seq: u64,
}

impl Worker<'_> {
    async fn work(&mut self, session: &mut Session) -> Result<()> {
        let mut next = None;
        loop {
            let claim = match next.take() {
                Some(claim) => claim,
                None => match self.wait().await? {
                    Some(claim) => claim,
                    None => continue,
                },
            };
            next = self.settle(&claim, session).await?;
        }
    }

    fn request(&mut self) -> ClaimRequest {
        self.seq += 1;
        ClaimRequest::worker(self.boot.clone(), self.seq, BATCH).lease(LEASE)
    }

    async fn wait(&mut self) -> Result<Option<Claim>> {
        let mut request = self.request();
        let wait = Duration::from_secs(60);
        let found = self
            .store
            .claim_waiting(&self.queue, &mut request, wait)
            .await;
        self.seq = request.claimer.seq();
        Ok(found?)
    }

    /// Runs the jobs of a claim, then settles them and takes the next ones in the same step.
    async fn settle(&mut self, claim: &Claim, session: &mut Session) -> Result<Option<Claim>> {
        let mut completions: Vec<Completion> = Vec::new();
        let mut failures = Vec::new();
        for job in &claim.jobs {
            let hold = Hold::new(job.id.clone(), claim.token);
            match Ask::read(&job.payload)? {
                Ask::Fail(times) if job.attempt <= times => {
                    failures.push(hold.failure("the demo asked for this failure"));
                }
                Ask::Hold if job.expiries == 0 => self.hold(claim.token, session).await?,
                _ => completions.push(hold.completion()),
            }
        }
        if !failures.is_empty() {
            self.store.fail(&self.queue, failures).await?;
        }
        let request = self.request();
        let completed = self
            .store
            .complete(&self.queue, completions, Some(request))
            .await?;
        Ok(completed.next)
    }

    /// Holds on to everything until the demo kills this process.
    async fn hold(&mut self, token: Token, session: &mut Session) -> Result<()> {
        session.output.line(HOLDING);
        let mut beat = tokio::time::interval(LEASE / 3);
        for _ in 0..100 {
            beat.tick().await;
            let renewal = Renewal::Worker {
                boot: self.boot.clone(),
                tokens: vec![token],
                settled: self.seq,
            };
            self.store.renew(&self.queue, renewal, LEASE).await?;
        }
        Err(Failure::internal("nobody killed this worker"))
    }
}
