//! `windlass job wait`: waits until a job has ended.

use std::convert::Infallible;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use windlass::{JobId, JobState, QueueName, Store};
use windlass_api::{Error, JobEnd, JobReply, wait_for_end};

pub(in crate::commands) use super::get::print as print_job;
use crate::exit::{Exit, Failure, Result};
use crate::output::{Output, escape};
use crate::session::Session;
use crate::typed;

/// How often the bar looks.
const LOOK: Duration = Duration::from_millis(500);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "The job is printed when it has ended. Exit 1: it is dead or cancelled.\n\n\
    Example:\n  windlass job wait mail ID --timeout 5m"
)]
pub(crate) struct Arguments {
    /// The queue
    queue: String,

    /// The job
    id: String,

    /// How long to wait at most; exit 124 when it is over
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,
}

/// The end of a job that was not kept.
#[derive(Debug, Serialize)]
struct Reply<'a> {
    id: &'a str,
    queue: &'a str,
    state: &'static str,
}

/// Waits, prints the job, and fails when the job did.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let id = JobId::new(&arguments.id)?;
    let limit = typed::duration(arguments.timeout.as_deref())?;
    let store = session.store().await?;

    let end = tokio::select! {
        end = wait_for_end(store.as_ref(), &queue, &id, limit) => end?,
        never = show_progress(store.as_ref(), &queue, &id) => match never {},
    };

    match end {
        JobEnd::Ended(job) => {
            let reply = JobReply::from(job.as_ref());
            session
                .output
                .result(&reply, |output| print_job(output, &reply));
            Ok(exit_of(job.state))
        }
        JobEnd::EndedNotKept(state) => {
            let reply = Reply {
                id: id.as_str(),
                queue: queue.as_str(),
                state: state.as_str(),
            };
            session
                .output
                .result(&reply, |output| output.line(state.as_str()));
            Ok(exit_of(state))
        }
        JobEnd::Gone => Err(gone(&queue, &id)),
        JobEnd::NotFound => Err(Failure::from(Error::job_not_found(&queue, &id))),
        JobEnd::TimedOut(job) => Err(timed_out(&id, job.state)),
    }
}

/// Shows on a terminal how far the job has come; ends with the wait.
async fn show_progress(store: &dyn Store, queue: &QueueName, id: &JobId) -> Infallible {
    let bar = Clears(Output::progress_bar());
    if bar.0.is_hidden() {
        return std::future::pending().await;
    }
    loop {
        // A look that fails shows nothing new; the wait itself says what is wrong.
        if let Ok(Some(job)) = store.get(queue, id).await {
            let fraction = job
                .progress
                .as_ref()
                .map_or(0.0, |progress| progress.fraction);
            bar.0.set_position(percent(fraction));
            let message = job.progress.and_then(|progress| progress.message);
            let said = message.unwrap_or_else(|| job.state.to_string());
            bar.0.set_message(escape(&said));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A bar that is gone when the wait is over.
struct Clears(ProgressBar);

impl Drop for Clears {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction lies between 0 and 1"
)]
fn percent(fraction: f64) -> u64 {
    (fraction * 100.0).round() as u64
}

/// The code for the end of a job.
pub(in crate::commands) fn exit_of(state: JobState) -> Exit {
    if state == JobState::Succeeded {
        Exit::Ok
    } else {
        Exit::Failed
    }
}

/// The job was there and is not any more.
pub(in crate::commands) fn gone(queue: &QueueName, id: &JobId) -> Failure {
    Failure::from(Error::not_kept(queue, id))
}

/// The job did not end in time.
pub(in crate::commands) fn timed_out(id: &JobId, state: JobState) -> Failure {
    Failure::from(Error::wait_timed_out(id, state))
}
