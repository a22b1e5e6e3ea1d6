//! `windlass clean`: the light clean or the deep one, once or as a cleaning process.

use clap::Args;
use windlass::store::{Maintained, limits};
use windlass::{QueueName, Store};
use windlass_api::{Error, MaintenanceReply};

use super::again::{self, Again, Deep};
use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Due jobs become ready, jobs of lost workers go back, finished ones that are kept no longer are removed. \
    Workers do the same by themselves; this is for queues without one, and for the audit.\n\n\
    Examples:\n  \
    windlass clean --deep\n  \
    windlass clean --every 1m --deep-every 24h"
)]
pub(crate) struct Arguments {
    /// One queue [default: all]
    queue: Option<String>,

    /// Audit every job and every counter as well, and repair what is wrong
    #[arg(long)]
    deep: bool,

    /// Go on until told to stop, with this long between two cleans
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    /// With --every: how long between two deep cleans
    #[arg(long, value_name = "D", requires = "every", allow_hyphen_values = true)]
    deep_every: Option<String>,
}

/// Cleans and prints what was done, once or until SIGTERM, which ends it well.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = arguments.queue.map(QueueName::new).transpose()?;
    let every = again::read("--every", arguments.every.as_deref())?;
    let deep = Deep::read(arguments.deep, arguments.deep_every.as_deref())?;
    let store = session.store().await?;
    let is_once = every.is_none();
    if let Some(queue) = queue.as_ref().filter(|_| is_once)
        && store.stats(queue).await?.is_none()
    {
        return Err(Failure::from(Error::queue_not_found(queue)));
    }
    let rounds = Again::until_terminated(every)?;
    let work = |is_deep| clean(store.as_ref(), queue.as_ref(), is_deep);
    let told = |output: &mut Output, reply: &MaintenanceReply| {
        output.result(reply, |output| {
            if is_once || !reply.is_idle() {
                print(output, reply);
            }
        });
    };
    rounds.clean(deep, &mut session.output, work, told).await
}

/// Cleans one queue or all: what was left to do when it came by, not what is added all the time.
async fn clean(
    store: &dyn Store,
    queue: Option<&QueueName>,
    is_deep: bool,
) -> windlass::Result<MaintenanceReply> {
    let queues = match queue {
        Some(queue) => vec![queue.clone()],
        None => store.queues().await?,
    };
    let mut reply = MaintenanceReply::default();
    for queue in &queues {
        loop {
            let maintained = store.maintain(queue, limits::PAGE).await?;
            reply.add_maintained(maintained);
            if !is_page_full(maintained) {
                break;
            }
        }
        if is_deep {
            let mut from = None;
            loop {
                let audited = store.audit(queue, from).await?;
                reply.add_audited(queue, &audited);
                from = audited.next;
                if from.is_none() {
                    break;
                }
            }
        }
    }
    Ok(reply)
}

/// Whether a step stopped at its page, so that more may be left.
const fn is_page_full(maintained: Maintained) -> bool {
    let page = limits::PAGE as u64;
    // What is forgotten shares the page of the jobs that are reaped, and of those pruned.
    maintained.promoted >= page
        || maintained.expired >= page
        || maintained.reaped + maintained.forgotten >= page
        || maintained.pruned + maintained.forgotten >= page
}

fn print(output: &mut Output, reply: &MaintenanceReply) {
    let repaired = (reply.checked > 0 || reply.repaired > 0)
        .then(|| format!(", {} checked, {} repaired", reply.checked, reply.repaired));
    output.line(&format!(
        "{} promoted, {} reaped, {} expired, {} pruned, {} forgotten{}",
        reply.promoted,
        reply.reaped,
        reply.expired,
        reply.pruned,
        reply.forgotten,
        repaired.unwrap_or_default()
    ));
    for repair in &reply.repairs {
        let job = repair
            .id
            .as_ref()
            .map_or(String::new(), |id| format!(" job {id}"));
        output.talk(&format!(
            "{}{job}: {} ({})",
            repair.queue, repair.message, repair.code
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_page_is_followed_by_another() {
        let none = Maintained::default();
        for (maintained, is_full) in [
            (none, false),
            (
                Maintained {
                    promoted: 99,
                    expired: 99,
                    ..none
                },
                false,
            ),
            (
                Maintained {
                    promoted: 100,
                    ..none
                },
                true,
            ),
            (
                Maintained {
                    reaped: 50,
                    pruned: 10,
                    forgotten: 49,
                    ..none
                },
                false,
            ),
            (
                Maintained {
                    reaped: 50,
                    forgotten: 50,
                    ..none
                },
                true,
            ),
            (
                Maintained {
                    pruned: 60,
                    forgotten: 40,
                    ..none
                },
                true,
            ),
        ] {
            assert_eq!(is_page_full(maintained), is_full, "{maintained:?}");
        }
    }
}
