//! `windlass job cancel`, `retry`, `delete` and `promote`: one job, several, or all that match.

use std::ffi::OsString;

use clap::{ArgGroup, Args};
use windlass::store::Target;
use windlass::{JobId, QueueName, UniqueKey};
use windlass_api::request::filter;
use windlass_api::{ChangeCounts, ChangeReply, Verb};

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
        let changes = verb.change(store.as_ref(), &queue, &target, from).await?;
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
        let reply = ChangeReply::of(verb, &queue, job)?;
        session
            .output
            .result(&reply, |output| output.line(reply.outcome));
        return Ok(Exit::Ok);
    }
    print_counts(verb, &counts, session);
    let mut exit = Exit::Ok;
    for job in &named {
        let Err(problem) = ChangeReply::of(verb, &queue, job) else {
            continue;
        };
        let failure = Failure::from(problem);
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
