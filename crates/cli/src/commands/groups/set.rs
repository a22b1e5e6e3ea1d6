//! `windlass groups set`: gives a group limits of its own.

use clap::Args;
use windlass::store::{GroupChange, GroupName};
use windlass::{Error, QueueName};
use windlass_api::request::{QueueRequest, SetGroup};

use crate::commands::queue::note_if_new;
use crate::commands::verb::Print;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Limits of a group, instead of those that the settings of the queue give every group:\n  \
    max_running=3    jobs that run at the same time (queue setting group_max_running)\n  \
    rate=100/1m      jobs handed out in any period (group_rate)\n  \
    burst=5          jobs that may start at once although the rate spreads them (group_burst)\n\n\
    `none` means no limit, `default` the one of the queue.\n\n\
    Examples:\n  windlass groups set imports acme max_running=3 rate=100/1m\n  \
    windlass groups set imports acme max_running=default rate=none"
)]
pub(crate) struct Arguments {
    /// Queue name; it is created if missing
    queue: QueueName,

    /// Name of the group
    group: GroupName,

    /// Limits to change
    #[arg(value_name = "NAME=VALUE", required = true)]
    limits: Vec<String>,
}

/// Changes the given limits, and prints the group.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let Arguments {
        queue,
        group,
        limits,
    } = arguments;
    let change = change(&limits)?;
    let store = session.store_or_create().await?;
    let is_new = store.stats(&queue).await?.is_none();
    let request = SetGroup::new(&group, change);
    let reply = request.execute(store.as_ref(), &queue).await?;
    note_if_new(store.as_ref(), &queue, is_new, session).await;
    Ok(reply.show(session))
}

fn change(pairs: &[String]) -> windlass::Result<GroupChange> {
    let mut change = GroupChange::default();
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            let help = "use NAME=VALUE, for example max_running=3";
            Error::invalid("limit of a group", format!("{pair:?} has no ="), help)
        })?;
        change.set(name, value)?;
    }
    Ok(change)
}
