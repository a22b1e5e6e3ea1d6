//! `windlass workers`: lists workers, sends one a command, or declares one dead.

use std::time::Duration;

use clap::{Args, Subcommand};
use windlass::duration;
use windlass_api::WorkerReply;
use windlass_api::request::{
    CommandWorker, CommandWorkerReply, FailWorker, FailWorkerReply, Workers,
};

use super::verb::{self, Print};
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List workers; the same as `windlass workers`
    #[command(
        after_help = "States: idle, busy, paused, draining (finishes its jobs, then exits), late (no heartbeat for 8 seconds), \
        lost (none for 30 seconds: other workers get its jobs)"
    )]
    List,
    /// Send a command to a worker, delivered with its next heartbeat
    #[command(name = "command")]
    Send(CommandWorker),
    /// Declare a worker dead and return its jobs to their queues now
    Fail(FailWorker),
}

/// Lists workers, sends one a command, or fails one.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    match arguments.command {
        None | Some(Command::List) => verb::run_on_store(Workers {}, session).await,
        Some(Command::Send(request)) => verb::run_on_store(request, session).await,
        Some(Command::Fail(request)) => verb::run_on_store(request, session).await,
    }
}

impl Print for CommandWorkerReply {
    fn print(&self, output: &mut Output) {
        let Self { id, command } = self;
        output.line(&format!("command {command} sent to worker {id}"));
    }
}

impl Print for FailWorkerReply {
    fn print(&self, output: &mut Output) {
        output.line(&format!("{} jobs returned to their queues", self.rescued));
    }
}

impl Print for Vec<WorkerReply> {
    fn print(&self, output: &mut Output) {
        if self.is_empty() {
            output.note("no workers: start one with `windlass exec` or `windlass worker`");
        }
        let row = |worker: &WorkerReply| {
            let last_seen = Duration::from_millis(worker.last_seen_ms);
            vec![
                worker.id.clone(),
                worker.state.to_owned(),
                worker.running.len().to_string(),
                format!("{} ago", duration::short(last_seen)),
                worker.host.clone(),
                worker.pid.to_string(),
                worker.queues.join(","),
            ]
        };
        let header = [
            "id",
            "state",
            "running",
            "last seen",
            "host",
            "pid",
            "queues",
        ];
        output.table(&header, self.iter().map(row));
    }
}
