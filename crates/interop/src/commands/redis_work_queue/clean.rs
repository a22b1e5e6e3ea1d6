//! Returns abandoned items to the queue, once or periodically.

use std::time::Duration;

use clap::Args;
use windlass::duration;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::output::Output;
use windlass_terminal::repeat::{self, AuditSchedule, Repeat};
use windlass_terminal::session::Session;

use super::Target;
use crate::commands::print::Object;
use crate::redis_work_queue::{WorkQueue, WorkQueueCleanReport};

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(
    after_help = "An item without a lease is checked twice, with the grace period in between, because an original client \
    may be just taking it.\n\n\
    Examples:\n  \
    windlass interop redis-work-queue clean --deep --prefix sums --layout 0.1\n  \
    windlass interop redis-work-queue clean --every 30s --deep-every 1h --prefix sums --layout 0.1"
)]
pub(crate) struct Arguments {
    /// Also find items that are in no list, by scanning all keys of the database
    #[arg(long)]
    deep: bool,

    /// Run until stopped, with this interval between cleans; use about the shortest lease
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    every: Option<Duration>,

    /// Interval between deep cleans, with --every
    #[arg(long, value_name = "D", requires = "every")]
    #[arg(allow_hyphen_values = true, value_parser = duration::parse)]
    deep_every: Option<Duration>,

    /// How long an item may be in the wrong list before it is moved [default: 2s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    grace: Option<Duration>,

    #[command(flatten)]
    target: Target,
}

/// Cleans and prints what was done, once or until a signal arrives.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let every = repeat::check_interval("--every", arguments.every)?;
    let deep = AuditSchedule::new("--deep-every", arguments.deep, arguments.deep_every)?;
    let mut queue = arguments.target.open(session).await?;
    if let Some(grace) = arguments.grace {
        queue = queue.with_grace(grace);
    }
    let rounds = Repeat::until_signal(every, session)?;
    let work = |is_deep| clean(&queue, is_deep);
    rounds
        .maintain(deep, &mut session.output, work, print)
        .await
}

async fn clean(queue: &WorkQueue, is_deep: bool) -> windlass::Result<(WorkQueueCleanReport, bool)> {
    let report = if is_deep {
        queue.deep_clean().await?
    } else {
        queue.light_clean().await?
    };
    Ok((report, is_deep))
}

fn print(output: &mut Output, (report, is_deep): &(WorkQueueCleanReport, bool)) {
    let WorkQueueCleanReport {
        requeued,
        held,
        removed,
        pending,
    } = *report;
    let reply = Object(vec![
        ("requeued", requeued.into()),
        ("held", held.into()),
        ("removed", removed.into()),
        ("pending", pending.into()),
        ("deep", (*is_deep).into()),
    ]);
    output.result(&reply, |output| {
        output.line(&format!(
            "{requeued} requeued, {held} held, {removed} removed, {pending} pending"
        ));
    });
}
