//! `windlass job cancel`, `retry`, `delete` and `promote`: one job, several, or all that match.

use std::ffi::OsString;

use clap::Args;
use windlass::store::Change;
use windlass_api::request::{Cancel, ChangesReply, JobSelector};
use windlass_api::{ChangeCounts, Error};

use crate::commands::verb::{OnQueue, store_for};
use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// Arguments of commands for live jobs; only these have a unique key.
#[derive(Debug, Args)]
pub(crate) struct LiveJobs {
    #[command(flatten)]
    jobs: OnQueue<JobSelector>,

    /// The live job with this unique key
    #[arg(long, value_name = "K", group = "which", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["state", "kind"])]
    unique_key: Option<String>,
}

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelledJobs {
    #[command(flatten)]
    live: LiveJobs,

    /// All jobs with exactly this payload; `-` reads stdin
    #[arg(long, value_name = "P", group = "which", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["state", "kind"])]
    payload: Option<OsString>,
}

impl LiveJobs {
    pub(super) fn selected(mut self) -> OnQueue<JobSelector> {
        self.jobs.request.unique_key = self.unique_key;
        self.jobs
    }
}

impl CancelledJobs {
    pub(super) fn selected(self) -> Result<OnQueue<JobSelector>> {
        let mut jobs = self.live.selected();
        jobs.request.payload_bytes = self.payload.map(bytes_or_stdin).transpose()?;
        Ok(jobs)
    }
}

/// Changes the jobs and prints the outcome.
pub(super) async fn run(
    change: Change,
    jobs: OnQueue<JobSelector>,
    session: &mut Session,
) -> Result<Exit> {
    let OnQueue {
        queue,
        request: mut selector,
    } = jobs;
    if let Some([id]) = selector.ids.as_deref() {
        selector.id = Some(id.clone());
        selector.ids = None;
    }
    let is_payload = selector.payload_bytes.is_some();
    let store = store_for(&Cancel(selector.clone()), &queue, session).await?;
    let changed = selector
        .change(store.as_ref(), &queue, change, false)
        .await?;
    match changed {
        ChangesReply::One(reply) => {
            let output = &mut session.output;
            output.result(&reply, |output| output.line(reply.outcome));
            Ok(Exit::Ok)
        }
        ChangesReply::Many { counts, errors, .. } => {
            print_counts(change, &counts, session);
            let mut exit = Exit::Ok;
            for error in errors.into_iter().map(CliError::from) {
                session.output.error(&error.details);
                exit = error.exit;
            }
            if is_payload && counts.is_empty() {
                return Err(Error::payload_not_found(&queue).into());
            }
            Ok(exit)
        }
        // Only a client that sets `each` gets it.
        ChangesReply::Each { .. } => Err(CliError::internal("the reply is for each job")),
    }
}

fn print_counts(change: Change, counts: &ChangeCounts, session: &mut Session) {
    session.output.result(counts, |output| {
        for (count, what) in [
            (counts.done, change.past_tense()),
            (counts.will_stop, "asked to stop"),
            (counts.wrong_state, "in the wrong state"),
            (counts.conflict, "with a unique key in use by another job"),
            (counts.not_found, "not found"),
        ] {
            if count > 0 || what == change.past_tense() {
                output.line(&format!("{count} {what}"));
            }
        }
    });
}
