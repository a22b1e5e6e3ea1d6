//! `windlass job wait`: waits until a job ends.

use std::convert::Infallible;
use std::time::Duration;

use indicatif::ProgressBar;
use windlass::{JobId, JobState, QueueName, Store};
use windlass_api::Code;
use windlass_api::request::{Wait, WaitReply};

use crate::commands::hint;
use crate::commands::verb::{OnQueue, Print, store_for};
use crate::exit::{Exit, Result};
use crate::output::{Output, escape};
use crate::session::Session;

/// Refresh interval of the progress bar.
const REFRESH: Duration = Duration::from_millis(500);

impl Print for WaitReply {
    fn print(&self, output: &mut Output) {
        match self {
            Self::Ended(job) => job.print(output),
            Self::NotKept { state, .. } => output.line(state),
        }
    }
}

/// Waits, prints the job, and fails if the job failed.
pub(super) async fn run(arguments: OnQueue<Wait>, session: &mut Session) -> Result<Exit> {
    let OnQueue {
        queue,
        request: wait,
    } = arguments;
    let store = store_for(&wait, &queue, session).await?;
    let id = JobId::new(&wait.id)?;
    let reply = tokio::select! {
        reply = wait.wait(store.as_ref(), &queue, None) => reply,
        never = show_progress(store.as_ref(), &queue, &id) => match never {},
    };
    if let Err(error) = &reply
        && error.code == Code::NotFound
    {
        hint::note_unused(store.as_ref(), &[queue], session).await;
    }
    let reply = reply?;
    reply.show(session);
    Ok(exit_of(reply.state()))
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
pub(in crate::commands) fn exit_of(state: &str) -> Exit {
    if state == JobState::Succeeded.as_str() {
        Exit::Ok
    } else {
        Exit::Failed
    }
}
