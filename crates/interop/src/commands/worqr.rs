//! `windlass interop worqr`: one command per operation.

mod fail;
mod listen;
mod processes;
mod queues;
mod reply;
mod run;
mod serve;
mod target;
mod tasks;
mod workers;

use clap::Subcommand;
use windlass_exec::Launch;

use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add one or more tasks to a queue
    Enqueue(tasks::Enqueue),
    /// Remove every copy of a task from a queue, and notify workers that run it
    Cancel(tasks::Cancel),
    /// List the queues that have tasks
    Queues(queues::Queues),
    /// Show the next task without taking it
    Peek(queues::QueueArguments),
    /// Show the number of waiting tasks
    Count(queues::QueueArguments),
    /// List the waiting tasks, newest first
    Tasks(queues::Tasks),
    /// Delete a queue with its waiting tasks
    Delete(queues::QueueArguments),
    /// Take the next task
    StartTask(processes::StartTask),
    /// Return a task to the front of its queue
    StopTask(processes::StopTask),
    /// Finish a task
    FinishTask(processes::FinishTask),
    /// List the processes in progress
    Processes(processes::Processes),
    /// Register a worker and start its timer
    StartWorker(workers::StartWorker),
    /// Reset the timer of a worker
    KeepAlive(workers::KeepAlive),
    /// Make a worker serve a queue
    StartWork(serve::Serve),
    /// Notify the workers of a queue of its waiting tasks
    RequestWork(queues::QueueArguments),
    /// Stop a worker serving a queue, and return its tasks
    StopWork(serve::Serve),
    /// Declare a worker dead, and return its tasks
    FailWorker(fail::FailWorker),
    /// List the workers
    Workers(workers::Workers),
    /// Declare workers dead whose timer ran out, and return their tasks
    Cleanup(fail::Cleanup),
    /// Print the events of queues
    Listen(listen::Listen),
    /// Run a program for each task, and finish tasks that are cancelled
    Run(run::Arguments),
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session, launch: Launch) -> Result<Exit> {
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
        Command::Run(arguments) => Box::pin(run::run(arguments, session, launch)).await,
    }
}
