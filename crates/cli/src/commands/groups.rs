//! `windlass groups`: shows, limits, pauses and resumes the groups of a queue.

mod print;
mod set;

use clap::{Args, Subcommand};
use windlass::{OpenMode, QueueName, Store};
use windlass_api::GroupReply;
use windlass_api::request::{GetGroup, Groups, PauseGroup, QueueRequest, ResumeGroup};

use super::queue::note_if_new;
use super::verb::{self, OnQueue, Print};
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the groups of a queue by name
    #[command(
        after_help = "A group is listed while it has ready jobs, slots in use, a pause, a rest, a closed rate or limits of its own. SLOTS is \
        the number in use, and the limit.\n\nExample:\n  windlass groups list imports"
    )]
    List(OnQueue<Groups>),
    /// Show a group and the limits that apply to it
    #[command(after_help = "Example:\n  windlass groups show imports acme")]
    Show(OnQueue<GetGroup>),
    /// Give a group limits of its own
    Set(set::Arguments),
    /// Pause a group: claims get none of its jobs; running jobs continue
    #[command(after_help = "Example:\n  windlass groups pause imports acme")]
    Pause(OnQueue<PauseGroup>),
    /// Resume a paused group, or one that a snooze lets rest
    #[command(after_help = "Example:\n  windlass groups resume imports acme")]
    Resume(OnQueue<ResumeGroup>),
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::List(arguments) => list(arguments, session).await,
        Command::Show(arguments) => verb::run(arguments, session).await,
        Command::Set(arguments) => set::run(arguments, session).await,
        Command::Pause(arguments) => {
            set_paused(arguments, OpenMode::CreateIfMissing, session).await
        }
        Command::Resume(arguments) => set_paused(arguments, OpenMode::MustExist, session).await,
    }
}

async fn list(arguments: OnQueue<Groups>, session: &mut Session) -> Result<Exit> {
    let OnQueue { queue, request } = arguments;
    let without_cursor = Groups {
        // Only the store that issued a cursor can read it.
        cursor: None,
        ..request.clone()
    };
    let store = verb::store_for(&without_cursor, &queue, session).await?;
    let (groups, next) = pages(store.as_ref(), &queue, request).await?;
    groups.show(session);
    if let Some(next) = next {
        session.output.next_page(&next);
    }
    Ok(Exit::Ok)
}

/// Lists up to `limit` groups. Pages may be short before the last.
async fn pages(
    store: &dyn Store,
    queue: &QueueName,
    mut request: Groups,
) -> Result<(Vec<GroupReply>, Option<String>)> {
    let limit = request.limit.unwrap_or(Groups::LIMIT_DEFAULT);
    let mut groups = Vec::new();
    loop {
        request.limit = Some(limit - groups.len());
        let page = request.clone().execute(store, queue).await?;
        groups.extend(page.groups);
        request.cursor = page.next;
        if request.cursor.is_none() || groups.len() >= limit {
            return Ok((groups, request.cursor));
        }
    }
}

async fn set_paused<R>(arguments: OnQueue<R>, mode: OpenMode, session: &mut Session) -> Result<Exit>
where
    R: QueueRequest<Reply = GroupReply> + Args,
{
    let OnQueue { queue, request } = arguments;
    verb::check(&request, &queue).await?;
    let store = windlass::open(&session.persistent_store_url()?, mode).await?;
    let is_new = store.stats(&queue).await?.is_none();
    let reply = request.execute(store.as_ref(), &queue).await?;
    note_if_new(store.as_ref(), &queue, is_new, session).await;
    session.output.result(&reply, |output| {
        output.line(if reply.paused { "paused" } else { "resumed" });
    });
    Ok(Exit::Ok)
}
