//! `windlass maintain` and `windlass audit`: maintenance once or repeatedly, and the audit.

use std::time::Duration;

use clap::Args;
use windlass::{OpenMode, QueueName, Store, duration};
use windlass_api::{Error, MaintenanceReply};

use super::repeat::{self, AuditSchedule, Repeat};
use super::start;
use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::process_args::ProcessArgs;
use crate::session::Session;

/// Arguments of `windlass maintain`, and of its old name `windlass clean`.
#[derive(Debug, Default, Args)]
#[command(
    after_help = "Makes due jobs ready, returns jobs of lost workers to their queue, and removes finished jobs past their \
    retention. Workers do this automatically; run it for queues without workers.\n\n\
    Examples:\n  \
    windlass maintain\n  \
    windlass maintain --every 1m --audit-every 24h"
)]
pub(crate) struct Arguments {
    /// Queue name [default: all queues]
    queue: Option<QueueName>,

    /// Old name of `windlass audit`: `windlass clean --deep` still works
    #[arg(long, hide = true)]
    deep: bool,

    /// Repeat until SIGTERM, waiting this long between runs
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    pub(crate) every: Option<Duration>,

    /// With --every: also run an audit this often
    #[arg(long, value_name = "D", alias = "deep-every")]
    #[arg(requires = "every", allow_hyphen_values = true, value_parser = duration::parse)]
    audit_every: Option<Duration>,

    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

/// Arguments of `windlass audit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Runs maintenance, then checks every job and counter, repairs errors, and lists the repairs.\n\n\
    Example:\n  windlass audit mail"
)]
pub(crate) struct AuditArguments {
    /// Queue name [default: all queues]
    queue: Option<QueueName>,
}

/// Runs maintenance and an audit once.
pub(crate) async fn audit(arguments: AuditArguments, session: &mut Session) -> Result<Exit> {
    let arguments = Arguments {
        queue: arguments.queue,
        deep: true,
        ..Arguments::default()
    };
    run(arguments, session).await
}

/// Runs maintenance once, or repeatedly until SIGTERM, and prints what was done.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = arguments.queue;
    let every = repeat::check_interval("--every", arguments.every)?;
    let audits = AuditSchedule::new("--audit-every", arguments.deep, arguments.audit_every)?;
    let is_once = every.is_none();
    let mut rounds = Repeat::until_sigterm(every)?;
    let process = ProcessArgs {
        fail_fast: is_once || arguments.process.fail_fast,
        ..arguments.process
    };
    let opening = start::open(session, OpenMode::MustExist, process);
    let Some(opened) = rounds.unless_signalled(opening).await else {
        return Ok(Exit::Ok);
    };
    let stores = opened?;
    let store = stores.store();
    if let Some(queue) = queue.as_ref().filter(|_| is_once)
        && store.stats(queue).await?.is_none()
    {
        return Err(CliError::from(Error::queue_not_found(queue)));
    }
    if let Some(every) = every {
        tracing::info!(
            name: "maintenance_started",
            target: "windlass",
            version = env!("CARGO_PKG_VERSION"),
            store = stores.outage().store(),
            every = duration::format(every),
            "maintenance started"
        );
    }
    let work = |is_audit| maintain(store.as_ref(), queue.as_ref(), is_audit);
    let print = |output: &mut Output, reply: &MaintenanceReply| {
        output.result(reply, |output| {
            if is_once || !reply.is_idle() {
                print(output, reply);
            }
        });
    };
    rounds
        .maintain(audits, &mut session.output, work, print)
        .await
}

/// Runs maintenance on one queue or all.
async fn maintain(
    store: &dyn Store,
    queue: Option<&QueueName>,
    is_audit: bool,
) -> windlass::Result<MaintenanceReply> {
    let queues = match queue {
        Some(queue) => vec![queue.clone()],
        None => store.queues().await?,
    };
    let mut reply = MaintenanceReply::default();
    for queue in &queues {
        reply.maintain(store, queue).await?;
        if is_audit {
            reply.audit(store, queue).await?;
        }
    }
    Ok(reply)
}

fn print(output: &mut Output, reply: &MaintenanceReply) {
    let repaired = (reply.checked > 0 || reply.repaired > 0)
        .then(|| format!(", {} checked, {} repaired", reply.checked, reply.repaired));
    let stale = (reply.stale > 0).then(|| format!(", {} stale entries dropped", reply.stale));
    output.line(&format!(
        "{} promoted, {} reaped, {} expired, {} pruned, {} forgotten{}{}",
        reply.promoted,
        reply.reaped,
        reply.expired,
        reply.pruned,
        reply.forgotten,
        stale.unwrap_or_default(),
        repaired.unwrap_or_default()
    ));
    for repair in &reply.repairs {
        let job = repair
            .id
            .as_ref()
            .map_or(String::new(), |id| format!(" job {id}"));
        output.note(&format!(
            "{}{job}: {} ({})",
            repair.queue, repair.message, repair.code
        ));
    }
}
