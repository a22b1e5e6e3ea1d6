//! `windlass schedules put`: creates or changes a schedule.

use std::ffi::OsString;

use clap::Args;
use windlass_api::PutSchedule;
use windlass_api::request::QueueRequest;

use crate::commands::enqueue;
use crate::commands::verb::OnQueue;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    mut_arg("id", |arg| arg.hide(true)),
    mut_arg("at", |arg| arg.hide(true)),
    mut_arg("on_duplicate", |arg| arg.hide(true)),
    mut_arg("postpone_max", |arg| arg.hide(true)),
    mut_arg("delay", |arg| arg.help("Run each job this long after its instant at the earliest")),
    mut_arg("expires", |arg| arg.value_name("D").help("Discard a job that has not started this long after its instant")),
    after_help = "Each instant enqueues one job with the id NAME@INSTANT, whichever process comes first. Workers, \
    `windlass up` and `windlass serve` fire schedules.\n\n\
    Missed instants are those that are more than a minute old when a process comes to them: skip drops them, last fires \
    the newest, all:N the newest N. Overlap decides what happens while the previous job has not ended: skip the instant, \
    allow both, buffer one job until it ends, or cancel it.\n\n\
    D is a duration: 500ms, 10s, 1h30m. T is a time: RFC 3339 (2030-01-31T12:00:00Z) or Unix seconds.\n\n\
    Examples:\n  \
    windlass schedules put reports nightly --cron '30 2 * * *' --zone Europe/Berlin 'daily report'\n  \
    windlass schedules put cache refresh --every 10m --jitter 30s --overlap allow"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    put: OnQueue<PutSchedule>,

    /// Payload of the jobs; `-` reads stdin. If omitted, the payload is empty
    payload: Option<OsString>,

    /// Header to store with the jobs; repeatable
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
}

/// Puts the schedule, and prints what that did.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let OnQueue { queue, mut request } = arguments.put;
    if !arguments.headers.is_empty() {
        request.job.headers = Some(enqueue::headers(&arguments.headers)?);
    }
    // Before stdin is read and a store is created.
    request.clone().into_schedule()?;
    let payload = enqueue::payload(arguments.payload, session)?;
    request.job.payload_bytes = Some(payload).filter(|payload| !payload.is_empty());
    request.clone().into_schedule()?;
    let store = session.store_or_create().await?;
    let reply = request.execute(store.as_ref(), &queue).await?;
    let result = reply.result.unwrap_or("changed");
    session.output.result(&reply, |output| output.line(result));
    let next = match reply.next.first() {
        _ if reply.paused => "the schedule is paused".to_owned(),
        Some(next) => format!("next: {next}"),
        None => "no more instants: its end has passed".to_owned(),
    };
    session.output.note(&next);
    Ok(Exit::Ok)
}
