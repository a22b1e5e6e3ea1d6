//! `windlass job wait`: waits until a job ends.

use std::convert::Infallible;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use windlass::{JobId, JobState, QueueName, Store};
use windlass_api::{Error, JobEnd, JobReply, wait_for_end};

pub(in crate::commands) use super::get::print as print_job;
use crate::exit::{CliError, Exit, Result};
use crate::output::{Output, escape};
use crate::parse;
use crate::session::Session;

/// Refresh interval of the progress bar.
const REFRESH: Duration = Duration::from_millis(500);

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the job when it ends. Exits with 1 if it is dead or cancelled.\n\n\
    Example:\n  windlass job wait mail ID --timeout 5m"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    /// Job id
    id: String,

    /// Maximum time to wait; exits with 124 if it is exceeded [default: no limit]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,
}

/// The end of a job that was not retained.
#[derive(Debug, Serialize)]
struct Reply<'a> {
    id: &'a str,
    queue: &'a str,
    state: &'static str,
}

/// Waits, prints the job, and fails if the job failed.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let id = JobId::new(&arguments.id)?;
    let limit = parse::duration(arguments.timeout.as_deref())?;
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
        JobEnd::NotFound => Err(CliError::from(Error::job_not_found(&queue, &id))),
        JobEnd::TimedOut(job) => Err(timed_out(&id, job.state)),
    }
}

/// Shows the progress of the job on a terminal until it is dropped.
async fn show_progress(store: &dyn Store, queue: &QueueName, id: &JobId) -> Infallible {
    let bar = ClearOnDrop(Output::progress_bar());
    if bar.0.is_hidden() {
        return std::future::pending().await;
    }
    loop {
        // Errors are ignored here; the wait itself reports them.
        if let Ok(Some(job)) = store.get(queue, id).await {
            let fraction = job
                .progress
                .as_ref()
                .map_or(0.0, |progress| progress.fraction.get());
            bar.0.set_position(percent(fraction));
            let message = job.progress.and_then(|progress| progress.message);
            let message = message.unwrap_or_else(|| job.state.to_string());
            bar.0.set_message(escape(&message));
        }
        tokio::time::sleep(REFRESH).await;
    }
}

/// Clears the progress bar when dropped.
struct ClearOnDrop(ProgressBar);

impl Drop for ClearOnDrop {
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

/// Returns the exit for the final state of a job.
pub(in crate::commands) fn exit_of(state: JobState) -> Exit {
    if state == JobState::Succeeded {
        Exit::Ok
    } else {
        Exit::Failed
    }
}

/// The job existed but has been removed.
pub(in crate::commands) fn gone(queue: &QueueName, id: &JobId) -> CliError {
    CliError::from(Error::not_kept(queue, id))
}

/// The job did not end in time.
pub(in crate::commands) fn timed_out(id: &JobId, state: JobState) -> CliError {
    CliError::from(Error::wait_timed_out(id, state))
}
