//! `windlass job cancel`, `retry`, `delete` and `promote`: one job, several, or all that match.

use std::ffi::OsString;

use clap::{ArgGroup, Args};
use windlass::store::{ChangedJob, Changes, Target};
use windlass::{Changed, Cursor, JobId, QueueName, Store, UniqueKey};
use windlass_api::request::filter;
use windlass_api::{ChangeCounts, ChangeReply, Problem, Verb};

use crate::exit::{Exit, Failure, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct Arguments {
    /// The queue
    queue: String,

    /// The job, or several
    #[arg(group = "which")]
    id: Vec<String>,

    /// Of `cancel` alone: every job with exactly this payload; `-` reads standard input
    #[arg(long, value_name = "P", group = "which", allow_hyphen_values = true)]
    payload: Option<OsString>,

    /// The live job that holds this unique key
    #[arg(long, value_name = "K", group = "which", allow_hyphen_values = true)]
    unique_key: Option<String>,

    /// Every job of the queue that this can be done to
    #[arg(long, group = "which")]
    all: bool,

    /// With --all: only jobs in this state, such as ready or dead
    #[arg(long, value_name = "S", conflicts_with_all = ["id", "payload", "unique_key"])]
    state: Option<String>,

    /// With --all: only jobs of this kind
    #[arg(long, value_name = "K", conflicts_with_all = ["id", "payload", "unique_key"])]
    kind: Option<String>,
}

/// Changes the jobs and prints what became of them.
pub(crate) async fn run(verb: Verb, arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let is_bulk = arguments.all || arguments.payload.is_some();
    let must_match = !arguments.all;
    let target = target(arguments)?;
    let store = session.store().await?;

    let mut counts = ChangeCounts::new(&queue);
    let mut named = Vec::new();
    let mut from = None;
    loop {
        let changes = change(store.as_ref(), verb, &queue, &target, from).await?;
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
        return print_one(verb, &queue, job, session);
    }
    print_counts(verb, &counts, session);
    let refusals = named.iter().filter_map(|job| refusal(verb, &queue, job));
    let mut exit = Exit::Ok;
    for failure in refusals {
        session.output.problem(&failure.problem);
        exit = failure.exit;
    }
    if must_match && counts.is_empty() {
        Ok(Exit::NotFound)
    } else {
        Ok(exit)
    }
}

fn target(arguments: Arguments) -> Result<Target> {
    if let Some(payload) = arguments.payload {
        return Ok(Target::Payload(bytes_or_stdin(payload)?));
    }
    if let Some(key) = arguments.unique_key {
        return Ok(Target::UniqueKey(UniqueKey::new(key)?));
    }
    if arguments.all {
        let filter = filter(arguments.state.as_deref(), arguments.kind.as_deref())?;
        return Ok(Target::Filter(filter));
    }
    let ids: Result<_, _> = arguments.id.iter().map(JobId::new).collect();
    Ok(Target::Ids(ids?))
}

async fn change(
    store: &dyn Store,
    verb: Verb,
    queue: &QueueName,
    target: &Target,
    from: Option<Cursor>,
) -> Result<Changes> {
    Ok(match verb {
        Verb::Cancel => store.cancel(queue, target, from).await?,
        Verb::Retry => store.retry(queue, target, from).await?,
        Verb::Delete => store.delete(queue, target, from).await?,
        Verb::Promote => store.promote(queue, target, from).await?,
    })
}

fn print_one(
    verb: Verb,
    queue: &QueueName,
    job: &ChangedJob,
    session: &mut Session,
) -> Result<Exit> {
    if let Some(failure) = refusal(verb, queue, job) {
        return Err(failure);
    }
    let reply = ChangeReply {
        id: job.id.as_ref().map(ToString::to_string).unwrap_or_default(),
        queue: queue.to_string(),
        outcome: if job.changed == Changed::WillStop {
            "will_stop"
        } else {
            verb.done()
        },
    };
    session
        .output
        .result(&reply, |output| output.line(reply.outcome));
    Ok(Exit::Ok)
}

fn print_counts(verb: Verb, counts: &ChangeCounts, session: &mut Session) {
    session.output.result(counts, |output| {
        for (count, what) in [
            (counts.done, verb.done()),
            (counts.will_stop, "asked to stop"),
            (counts.wrong_state, "in a state that forbids it"),
            (counts.conflict, "with a unique key that is held by another"),
            (counts.not_found, "not found"),
        ] {
            if count > 0 || what == verb.done() {
                output.line(&format!("{count} {what}"));
            }
        }
    });
}

/// Why a job was not changed, if it was not.
fn refusal(verb: Verb, queue: &QueueName, job: &ChangedJob) -> Option<Failure> {
    let Some(id) = &job.id else {
        return Some(Failure::new(Exit::NotFound, Problem::key_not_held(queue)));
    };
    match &job.changed {
        Changed::Done | Changed::WillStop => None,
        Changed::WrongState(state) => {
            let problem = Problem::wrong_state(queue, id, *state, verb);
            Some(Failure::new(Exit::Conflict, problem))
        }
        Changed::Conflict(holder) => Some(Failure::new(
            Exit::Conflict,
            Problem::key_taken(queue, id, holder),
        )),
        Changed::NotFound => Some(Failure::new(Exit::NotFound, Problem::no_job(queue, id))),
    }
}
