//! Runs a program for each due job, and does what the leader does meanwhile.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::time::{Instant, sleep};
use windlass::duration;
use windlass_exec::{Launch, ProgramExit};
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::Target;
use crate::commands::print;
use crate::commands::runner::{Runner, RunnerArguments, until_signal};
use crate::delayed_queue::{AckStatus, DelayedJob, DelayedQueue, ReturnTo, UNACKED_FOR};

/// How long one call waits for a job. Short, because it is not interrupted by a stop signal: a job
/// could be taken without a reply.
const TAKE_WAIT: Duration = Duration::from_secs(1);

/// Default delay before a failed job is due again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Interval between checks of the leader, as in the original.
const LEADER_EVERY: Duration = Duration::from_secs(1);

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "If CMD exits with status 0, the job is acknowledged. Otherwise it is due again after --retry-after. CMD \
    gets the payload on stdin and the variables WINDLASS_JOB_ID, WINDLASS_DUE_TIME and WINDLASS_PICKUP_TIME. It is \
    killed when this process ends; an interrupted job returns to the front.\n\n\
    While it runs, this command also moves due jobs and returns jobs of dead workers.\n\n\
    Example:\n  windlass interop delayed-queue run -- ./send-mail"
)]
pub(crate) struct Arguments {
    /// Time limit of a job [default: no limit]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    timeout: Option<Duration>,

    /// Delay before a failed job is due again [default: 1s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    retry_after: Option<Duration>,

    /// How long a job may be unacknowledged; longer than original workers run a job [default: 10s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    unacked_for: Option<Duration>,

    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    runner: RunnerArguments,
}

/// Takes jobs and runs the program for each.
struct Worker {
    queue: DelayedQueue,
    runner: Runner,
    timeout: Option<Duration>,
    retry_after: Duration,
}

/// Number of jobs by outcome.
#[derive(Debug, Default, Serialize)]
struct Summary {
    acked: u64,
    failed: u64,
    lost: u64,
}

/// Runs jobs until stopped or, with --burst, until none is due.
pub(super) async fn run(
    arguments: Arguments,
    session: &mut Session,
    launch: Launch,
) -> Result<Exit> {
    let unacked_for = arguments.unacked_for.unwrap_or(UNACKED_FOR);
    let queue = arguments.target.open(session).await?;
    let timeout = arguments.timeout;
    let retry_after = arguments.retry_after.unwrap_or(RETRY_AFTER);
    let (runner, stop) = arguments.runner.open(session, launch)?;
    let worker = Worker {
        queue: queue.with_unacked_for(unacked_for),
        runner,
        timeout,
        retry_after,
    };
    let summary = until_signal(session, stop, Box::pin(worker.work())).await?;
    let Summary {
        acked,
        failed,
        lost,
    } = summary;
    let line = format!("{acked} acknowledged, {failed} failed, {lost} lost");
    print::value(session, &summary, line)
}

impl Worker {
    async fn work(&self) -> Result<Summary> {
        let led = self.queue.clone();
        let _leader = self.runner.repeat(LEADER_EVERY, move || {
            let queue = led.clone();
            async move {
                queue.move_due().await?;
                queue.rescue().await.map(drop)
            }
        });
        let mut summary = Summary::default();
        while !self.runner.is_stopped() {
            match self.next_job().await {
                Ok(Some(job)) => self.run_job(&job, &mut summary).await,
                Ok(None) if self.runner.is_burst => break,
                Ok(None) => {}
                Err(error) if error.is_transient() || error.is_unknown() => {
                    self.runner.log_and_wait(&error).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(summary)
    }

    async fn next_job(&self) -> windlass::Result<Option<DelayedJob>> {
        if self.runner.is_burst {
            self.queue.move_due().await?;
            return self.queue.take(Duration::ZERO).await;
        }
        self.queue.take(TAKE_WAIT).await
    }

    async fn run_job(&self, job: &DelayedJob, summary: &mut Summary) {
        let (due, pickup) = (
            job.due_time
                .map_or(String::new(), |due| (due.as_ms() / 1000).to_string()),
            job.pickup_time.to_string(),
        );
        let variables = [
            ("WINDLASS_JOB_ID", job.id.as_str()),
            ("WINDLASS_DUE_TIME", due.as_str()),
            ("WINDLASS_PICKUP_TIME", pickup.as_str()),
        ];
        let started = Instant::now();
        let over = async {
            tokio::select! {
                () = self.keep(job) => {}
                () = self.timed_out() => {}
            }
        };
        let running = self.runner.run(&variables, job.payload.clone(), over);
        let ended = Box::pin(running).await;
        let has_timed_out = self
            .timeout
            .is_some_and(|timeout| started.elapsed() >= timeout);
        let retry = ReturnTo::Backlog(self.retry_after);
        let to = match ended {
            ProgramExit::Succeeded(_) => None,
            ProgramExit::Failed(why) => {
                self.log(job, &format!("failed: {why}"));
                Some(retry)
            }
            ProgramExit::Stopped if self.runner.is_stopped() => Some(ReturnTo::Front),
            ProgramExit::Stopped if has_timed_out => {
                self.log(job, "exceeded its time limit");
                Some(retry)
            }
            // Another worker may have it.
            ProgramExit::Stopped => Some(ReturnTo::Back),
        };
        let status = self.report(job, to).await;
        match (status, to) {
            (Some(AckStatus::Done), None) => summary.acked += 1,
            (Some(AckStatus::Done), Some(ReturnTo::Backlog(_))) => summary.failed += 1,
            _ => summary.lost += 1,
        }
    }

    /// Reports the outcome, with retries for as long as no monitor can have returned the job.
    async fn report(&self, job: &DelayedJob, to: Option<ReturnTo>) -> Option<AckStatus> {
        let until = Instant::now() + self.queue.unacked_for();
        let queue = &self.queue;
        let report = || async move {
            match to {
                None => queue.ack(job).await,
                Some(to) => queue.nack(job, to).await,
            }
        };
        match self
            .runner
            .report(report, || Instant::now() < until)
            .await?
        {
            // The reply to the first call was lost.
            (AckStatus::Gone, true) => Some(AckStatus::Done),
            (status, _) => Some(status),
        }
    }

    /// Renews the job until it is lost, or until a monitor may have returned it.
    async fn keep(&self, job: &DelayedJob) {
        let mut renewed = Instant::now();
        loop {
            sleep(self.queue.unacked_for() / 4).await;
            match self.queue.renew(job).await {
                Ok(AckStatus::Done) => renewed = Instant::now(),
                Ok(AckStatus::Gone) => break,
                Err(_) if renewed.elapsed() >= self.queue.unacked_for() => break,
                Err(_) => {}
            }
        }
        self.log(job, "was lost and is stopped");
    }

    fn log(&self, job: &DelayedJob, what: &str) {
        self.runner.log(&format!("job {} {what}", job.id));
    }

    async fn timed_out(&self) {
        match self.timeout {
            Some(timeout) => sleep(timeout).await,
            None => std::future::pending().await,
        }
    }
}
