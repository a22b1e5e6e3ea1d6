//! `windlass job cancel`, `retry`, `delete` and `promote`: one job, several, or all that match.

use std::ffi::OsString;

use clap::{ArgGroup, Args};
use windlass::store::{Change, Target};
use windlass::{JobId, QueueName, UniqueKey};
use windlass_api::request::filter;
use windlass_api::{ChangeCounts, ChangeReply, Error};

use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// Arguments of all these commands.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct Jobs {
    /// Queue name
    queue: String,

    /// Job ids
    #[arg(group = "which")]
    id: Vec<String>,

    /// All jobs of the queue that the operation applies to
    #[arg(long, group = "which")]
    all: bool,

    /// With --all: only jobs in this state, such as ready or dead
    #[arg(long, value_name = "S", conflicts_with = "id")]
    state: Option<String>,

    /// With --all: only jobs of this kind
    #[arg(long, value_name = "K", conflicts_with = "id")]
    kind: Option<String>,
}

/// Arguments of commands for live jobs; only these have a unique key.
#[derive(Debug, Args)]
pub(crate) struct LiveJobs {
    #[command(flatten)]
    jobs: Jobs,

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

/// Arguments that select jobs.
pub(crate) trait IntoTarget {
    fn into_target(self) -> Result<(QueueName, Target)>;
}

impl IntoTarget for Jobs {
    fn into_target(self) -> Result<(QueueName, Target)> {
        let queue = QueueName::new(&self.queue)?;
        if self.all {
            let filter = filter(self.state.as_deref(), self.kind.as_deref())?;
            return Ok((queue, Target::Filter(filter)));
        }
        let ids: Result<_, _> = self.id.iter().map(JobId::new).collect();
        Ok((queue, Target::Ids(ids?)))
    }
}

impl IntoTarget for LiveJobs {
    fn into_target(self) -> Result<(QueueName, Target)> {
        let Some(key) = self.unique_key else {
            return self.jobs.into_target();
        };
        let queue = QueueName::new(&self.jobs.queue)?;
        Ok((queue, Target::UniqueKey(UniqueKey::new(key)?)))
    }
}

impl IntoTarget for CancelledJobs {
    fn into_target(self) -> Result<(QueueName, Target)> {
        let Some(payload) = self.payload else {
            return self.live.into_target();
        };
        let queue = QueueName::new(&self.live.jobs.queue)?;
        Ok((queue, Target::Payload(bytes_or_stdin(payload)?)))
    }
}

/// Changes the jobs and prints the outcome.
pub(crate) async fn run(
    change: Change,
    arguments: impl IntoTarget,
    session: &mut Session,
) -> Result<Exit> {
    let (queue, target) = arguments.into_target()?;
    let is_bulk = matches!(target, Target::Filter(_) | Target::Payload(_));
    let store = session.store().await?;

    let mut counts = ChangeCounts::new(&queue);
    let mut named = Vec::new();
    let mut from = None;
    loop {
        let changes = store.change(&queue, change, &target, from).await?;
        changes.items.iter().for_each(|job| counts.add(job));
        if !is_bulk {
            named.extend(changes.items);
        }
        from = changes.next;
        if from.is_none() {
            break;
        }
    }

    if let [job] = named.as_slice() {
        let reply = ChangeReply::of(change, &queue, job)?;
        session
            .output
            .result(&reply, |output| output.line(reply.outcome));
        return Ok(Exit::Ok);
    }
    print_counts(change, &counts, session);
    let mut exit = Exit::Ok;
    for job in &named {
        let Err(error) = ChangeReply::of(change, &queue, job) else {
            continue;
        };
        let error = CliError::from(error);
        session.output.error(&error.details);
        exit = error.exit;
    }
    // Missing ids were reported one by one above; a payload without a match needs its own error.
    if matches!(target, Target::Payload(_)) && counts.is_empty() {
        return Err(CliError::from(Error::payload_not_found(&queue)));
    }
    Ok(exit)
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
