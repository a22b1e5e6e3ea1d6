//! `windlass interop worqr`: one command per operation.

mod fail;
mod listen;
mod place;
mod processes;
mod queues;
mod reply;
mod serve;
mod tasks;
mod workers;

use clap::Subcommand;

use crate::exit::{Exit, Result};
use crate::session::Session;

/// One word per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put a task into a queue, or several
    Enqueue(tasks::Enqueue),
    /// Take every copy of a task out of a queue, and tell whoever is at it
    Cancel(tasks::Cancel),
    /// See the queues that have tasks
    Queues(queues::Queues),
    /// See the task that is taken next
    Peek(queues::Named),
    /// See how many tasks wait
    Count(queues::Named),
    /// See the tasks that wait, newest first
    Tasks(queues::Tasks),
    /// Delete a queue with the tasks that wait
    Delete(queues::Named),
    /// Take the next task
    StartTask(processes::StartTask),
    /// Put a task back at the front of its queue
    StopTask(processes::StopTask),
    /// End a task
    FinishTask(processes::FinishTask),
    /// See what is in progress
    Processes(processes::Processes),
    /// Note a worker as living
    StartWorker(workers::StartWorker),
    /// Say that a worker is alive
    KeepAlive(workers::KeepAlive),
    /// Let a worker serve a queue
    StartWork(serve::Serve),
    /// Tell the workers of a queue how many tasks wait
    RequestWork(queues::Named),
    /// End a worker's service of a queue; what it has in progress there goes back
    StopWork(serve::Serve),
    /// Declare a worker dead; what it has in progress goes back
    FailWorker(fail::FailWorker),
    /// See the workers
    Workers(workers::Workers),
    /// Declare dead whoever does not live any more
    Cleanup(fail::Cleanup),
    /// Print what happens at queues, as it happens
    Listen(listen::Listen),
}

/// Runs what was typed.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::Enqueue(arguments) => tasks::enqueue(arguments, session).await,
        Command::Cancel(arguments) => tasks::cancel(arguments, session).await,
        Command::Queues(arguments) => queues::queues(arguments, session).await,
        Command::Peek(arguments) => queues::peek(arguments, session).await,
        Command::Count(arguments) => queues::count(arguments, session).await,
        Command::Tasks(arguments) => queues::tasks(arguments, session).await,
        Command::Delete(arguments) => queues::delete(arguments, session).await,
        Command::StartTask(arguments) => processes::start(arguments, session).await,
        Command::StopTask(arguments) => processes::stop(arguments, session).await,
        Command::FinishTask(arguments) => processes::finish(arguments, session).await,
        Command::Processes(arguments) => processes::list(arguments, session).await,
        Command::StartWorker(arguments) => Box::pin(workers::start(arguments, session)).await,
        Command::KeepAlive(arguments) => workers::keep_alive(arguments, session).await,
        Command::StartWork(arguments) => serve::start(arguments, session).await,
        Command::RequestWork(arguments) => queues::request_work(arguments, session).await,
        Command::StopWork(arguments) => serve::stop(arguments, session).await,
        Command::FailWorker(arguments) => fail::fail(arguments, session).await,
        Command::Workers(arguments) => workers::list(arguments, session).await,
        Command::Cleanup(arguments) => fail::cleanup(arguments, session).await,
        Command::Listen(arguments) => listen::run(arguments, session).await,
    }
}
