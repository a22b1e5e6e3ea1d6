//! `windlass schedules`: jobs by cron pattern or interval.

mod apply;
mod backfill;
mod print;
mod put;

use clap::{Args, Subcommand};
use windlass::{QueueName, Store};
use windlass_api::ScheduleReply;
use windlass_api::request::{
    Backfill, DeleteSchedule, GetSchedule, NextInstants, PauseSchedule, QueueRequest,
    ResumeSchedule, RunSchedule, RunScheduleReply, Schedules,
};

use super::verb::{self, OnQueue, Print};
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the schedules of one queue, or of all
    #[command(
        after_help = "NEXT is the time until the next instant, or its date if it is more than 32 days away.\n\nExample:\n  windlass schedules list reports"
    )]
    List(ListArgs),
    /// Show a schedule with its next instants and its history
    #[command(after_help = "Example:\n  windlass schedules show reports nightly")]
    Show(OnQueue<GetSchedule>),
    /// Create or change a schedule; an identical one changes nothing
    Put(Box<put::Arguments>),
    /// Put the schedules of a file; a repeated call changes nothing
    Apply(apply::Arguments),
    /// Print the next instants in local time, with changes of the clock
    #[command(after_help = "Example:\n  windlass schedules next reports nightly -n 20")]
    Next(OnQueue<NextInstants>),
    /// Enqueue a job of a schedule now
    #[command(
        after_help = "Exits with 4 if the previous job has not ended and the schedule does not allow overlap.\n\n\
        Example:\n  windlass schedules run reports nightly"
    )]
    Run(OnQueue<RunSchedule>),
    /// Let instants pass without firing; they are not caught up
    #[command(after_help = "Example:\n  windlass schedules pause reports nightly")]
    Pause(OnQueue<PauseSchedule>),
    /// Resume a paused schedule
    #[command(after_help = "Example:\n  windlass schedules resume reports nightly")]
    Resume(OnQueue<ResumeSchedule>),
    /// Enqueue the jobs of all instants between two times
    #[command(
        after_help = "The jobs may overlap. Instants that fired already are duplicates, and add nothing.\n\n\
        Example:\n  windlass schedules backfill reports nightly 2026-03-01T00:00:00Z 2026-03-07T00:00:00Z"
    )]
    Backfill(OnQueue<Backfill>),
    /// Delete a schedule and its history, but not its jobs
    #[command(after_help = "Example:\n  windlass schedules delete reports nightly")]
    Delete(OnQueue<DeleteSchedule>),
}

/// Command-line arguments of list.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Queue name [default: all queues]
    queue: Option<QueueName>,
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::List(arguments) => list(arguments, session).await,
        Command::Show(arguments) => verb::run(arguments, session).await,
        Command::Put(arguments) => put::run(*arguments, session).await,
        Command::Apply(arguments) => apply::run(arguments, session).await,
        Command::Next(arguments) => verb::run(arguments, session).await,
        Command::Run(arguments) => run_now(arguments, session).await,
        Command::Pause(arguments) => set_paused(arguments, session).await,
        Command::Resume(arguments) => set_paused(arguments, session).await,
        Command::Backfill(arguments) => backfill::run(arguments, session).await,
        Command::Delete(arguments) => delete(arguments, session).await,
    }
}

/// Executes a request on a store that exists.
async fn call<R: QueueRequest + Args>(
    arguments: OnQueue<R>,
    session: &Session,
) -> Result<R::Reply> {
    let OnQueue { queue, request } = arguments;
    let store = verb::store_for(&request, &queue, session).await?;
    Ok(request.execute(store.as_ref(), &queue).await?)
}

async fn list(arguments: ListArgs, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let queues = match arguments.queue {
        Some(queue) => vec![queue],
        None => store.queues().await?,
    };
    let mut schedules = Vec::new();
    for queue in &queues {
        schedules.extend(all(store.as_ref(), queue).await?);
    }
    Ok(schedules.show(session))
}

/// Returns all schedules of a queue.
async fn all(store: &dyn Store, queue: &QueueName) -> Result<Vec<ScheduleReply>> {
    let mut schedules = Vec::new();
    let mut page = Schedules::default();
    loop {
        let reply = page.clone().execute(store, queue).await?;
        schedules.extend(reply.schedules);
        page.cursor = reply.next;
        if page.cursor.is_none() {
            return Ok(schedules);
        }
    }
}

async fn run_now(arguments: OnQueue<RunSchedule>, session: &mut Session) -> Result<Exit> {
    let reply = call(arguments, session).await?;
    session.output.result(&reply, |output| {
        if let RunScheduleReply::Job(job) = &reply {
            output.line(&job.id);
        }
    });
    Ok(Exit::Ok)
}

async fn set_paused<R>(arguments: OnQueue<R>, session: &mut Session) -> Result<Exit>
where
    R: QueueRequest<Reply = ScheduleReply> + Args,
{
    let reply = call(arguments, session).await?;
    session.output.result(&reply, |output| {
        output.line(if reply.paused { "paused" } else { "resumed" });
    });
    Ok(Exit::Ok)
}

async fn delete(arguments: OnQueue<DeleteSchedule>, session: &mut Session) -> Result<Exit> {
    let reply = call(arguments, session).await?;
    session
        .output
        .result(&reply, |output| output.line("deleted"));
    Ok(Exit::Ok)
}
