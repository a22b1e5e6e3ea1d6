//! `windlass job cancel`, `retry`, `delete` and `promote`: one job, several, or all that match.

use std::ffi::OsString;

use clap::Args;
use windlass::store::limits::SCAN_PAGE;
use windlass::store::{Change, Filter, Stats};
use windlass::{JobState, QueueName, Store};
use windlass_api::request::{Cancel, ChangesReply, JobSelector};
use windlass_api::{ChangeCounts, Error};

use crate::commands::confirm::{ConfirmArgs, Plan};
use crate::commands::hint;
use crate::commands::verb::OnQueues;
use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// Arguments of all commands.
#[derive(Debug, Args)]
pub(crate) struct ChangedJobs {
    #[command(flatten)]
    jobs: OnQueues<JobSelector>,

    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// Arguments of commands that also find a job by the unique key it holds.
#[derive(Debug, Args)]
pub(crate) struct KeyHolder {
    #[command(flatten)]
    changed: ChangedJobs,

    /// The job that holds this unique key
    #[arg(long, value_name = "K", group = "which", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["state", "kind"])]
    unique_key: Option<String>,
}

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelledJobs {
    #[command(flatten)]
    holder: KeyHolder,

    /// All jobs with exactly this payload; `-` reads stdin
    #[arg(long, value_name = "P", group = "which", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["state", "kind"])]
    payload: Option<OsString>,
}

impl KeyHolder {
    pub(super) fn selected(mut self) -> ChangedJobs {
        self.changed.jobs.request.unique_key = self.unique_key;
        self.changed
    }
}

impl CancelledJobs {
    pub(super) fn selected(self) -> Result<ChangedJobs> {
        let mut changed = self.holder.selected();
        changed.jobs.request.payload_bytes = self.payload.map(bytes_or_stdin).transpose()?;
        Ok(changed)
    }
}

/// Changes the jobs and prints the outcome. Many jobs are changed only if the user agrees.
pub(super) async fn run(
    change: Change,
    arguments: ChangedJobs,
    session: &mut Session,
) -> Result<Exit> {
    let ChangedJobs { mut jobs, confirm } = arguments;
    let is_all = jobs.request.all.unwrap_or(false);
    if !is_all && (jobs.all_queues || confirm.dry_run) {
        return Err(CliError::usage(
            "--all-queues and --dry-run need --all",
            "add --all, or give a queue and job ids",
        ));
    }
    if let Some([id]) = jobs.request.ids.as_deref() {
        jobs.request.id = Some(id.clone());
        jobs.request.ids = None;
    }
    let selector = jobs.request.clone();
    let store = jobs.store(&Cancel(selector.clone()), session).await?;
    let queues = jobs.queues(store.as_ref()).await?;
    if is_all {
        if !jobs.all_queues {
            hint::note_unused(store.as_ref(), &queues, session).await;
        }
        let plan = plan(change, store.as_ref(), &queues, &selector, jobs.all_queues).await?;
        if let Some(exit) = confirm.stops(&plan, session)? {
            return Ok(exit);
        }
    }
    let mut all_counts = Vec::new();
    for queue in &queues {
        let selected = selector.clone();
        let changed = selected.change(store.as_ref(), queue, change, false);
        match changed.await? {
            ChangesReply::One(reply) => {
                let output = &mut session.output;
                output.result(&reply, |output| output.line(reply.outcome));
            }
            ChangesReply::Many { counts, .. } if jobs.all_queues => all_counts.push(counts),
            ChangesReply::Many { counts, errors, .. } => {
                session.output.result(&counts, |output| {
                    for line in lines(change, &counts) {
                        output.line(&line);
                    }
                });
                return end(queue, &selector, &counts, errors, session);
            }
            // Only a client that sets `each` gets it.
            ChangesReply::Each { .. } => {
                return Err(CliError::internal("the reply is for each job"));
            }
        }
    }
    if jobs.all_queues {
        session.output.result(&all_counts, |output| {
            for counts in &all_counts {
                output.line(&format!(
                    "{}: {}",
                    counts.queue,
                    lines(change, counts).join(", ")
                ));
            }
        });
    }
    Ok(Exit::Ok)
}

/// Reports the jobs that were selected by id or payload and not changed.
fn end(
    queue: &QueueName,
    selector: &JobSelector,
    counts: &ChangeCounts,
    errors: Vec<Error>,
    session: &mut Session,
) -> Result<Exit> {
    let mut exit = Exit::Ok;
    for error in errors.into_iter().map(CliError::from) {
        session.output.error(&error.details);
        exit = error.exit;
    }
    if selector.payload_bytes.is_some() && counts.is_empty() {
        return Err(Error::payload_not_found(queue).into());
    }
    Ok(exit)
}

fn lines(change: Change, counts: &ChangeCounts) -> Vec<String> {
    let outcomes = [
        (counts.done, change.past_tense()),
        (counts.will_stop, "asked to stop"),
        (counts.wrong_state, "in the wrong state"),
        (counts.conflict, "with a unique key in use by another job"),
        (counts.not_found, "not found"),
    ];
    let is_shown = |(count, what): &(u64, &str)| *count > 0 || *what == change.past_tense();
    let shown = outcomes.into_iter().filter(is_shown);
    shown
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
}

/// The states that a change applies to, and their name.
const fn states(change: Change) -> (&'static [JobState], &'static str) {
    use JobState::{Cancelled, Dead, Pending, Ready, Running, Scheduled, Succeeded};
    match change {
        Change::Cancel => (&[Pending, Scheduled, Ready, Running], "waiting and running"),
        Change::Retry => (&[Dead], "dead"),
        Change::Delete => (&[Succeeded, Dead, Cancelled], "finished"),
        Change::Promote => (&[Scheduled], "scheduled"),
    }
}

/// Counts the jobs that a change with `--all` would change.
async fn plan(
    change: Change,
    store: &dyn Store,
    queues: &[QueueName],
    selector: &JobSelector,
    all_queues: bool,
) -> Result<Plan> {
    let (states, which) = states(change);
    let wanted = selector.state.as_deref();
    let is_wanted = |state: &&JobState| wanted.is_none_or(|wanted| wanted == state.as_str());
    let filter = selector.filter()?;
    let mut counts = Vec::new();
    for queue in queues {
        let mut count: u64 = 0;
        if filter.is_search() {
            for state in states.iter().filter(is_wanted) {
                let state = Some(*state);
                let filter = filter.clone();
                count += listed(store, queue, &Filter { state, ..filter }).await?;
            }
        } else {
            let stats = store.stats(queue).await?.unwrap_or_default();
            let states = states.iter().filter(is_wanted);
            count = states.map(|state| stored(&stats, *state)).sum();
        }
        counts.push((queue.clone(), count));
    }
    Ok(Plan {
        verb: change.as_str(),
        which: wanted.unwrap_or(which).to_owned(),
        kind: selector.kind.clone(),
        is_filtered: filter.reads_jobs(),
        counts,
        all_queues,
        and: "",
    })
}

const fn stored(stats: &Stats, state: JobState) -> u64 {
    match state {
        JobState::Pending => stats.pending,
        JobState::Scheduled => stats.scheduled,
        JobState::Ready => stats.ready,
        JobState::Running => stats.running,
        JobState::Succeeded => stats.succeeded,
        JobState::Dead => stats.dead,
        JobState::Cancelled => stats.cancelled,
    }
}

async fn listed(store: &dyn Store, queue: &QueueName, filter: &Filter) -> Result<u64> {
    let mut count = 0;
    let mut from = None;
    loop {
        let page = store.list(queue, filter, from, SCAN_PAGE).await?;
        count += page.items.len() as u64;
        from = page.next;
        if from.is_none() {
            return Ok(count);
        }
    }
}
