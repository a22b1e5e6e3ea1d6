//! `windlass workers`: lists workers, sends one a command, or declares one dead.

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use windlass::store::{Clock, SystemClock, WorkerCommand};
use windlass::{BootId, Timestamp};
use windlass_api::{Error, WorkerReply};

use crate::exit::{CliError, Exit, Result};
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
    List,
    /// Send a command to a worker, delivered with its next heartbeat
    #[command(name = "command")]
    Send {
        /// Worker id, as printed by `windlass workers`
        id: String,
        /// Command to send
        #[arg(value_enum)]
        command: CommandArg,
    },
    /// Declare a worker dead and return its jobs to their queues now
    Fail {
        /// Worker id, as printed by `windlass workers`
        id: String,
    },
}

/// A command for a worker.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CommandArg {
    /// Claim jobs again
    Continue,
    /// Claim no more jobs; running ones continue
    Pause,
    /// Finish the running jobs and exit
    Stop,
}

#[derive(Debug, Serialize)]
struct CommandReply {
    id: String,
    command: &'static str,
}

#[derive(Debug, Serialize)]
struct FailReply {
    id: String,
    rescued: u64,
}

/// Lists workers, sends one a command, or fails one.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    match arguments.command {
        None | Some(Command::List) => list(session).await,
        Some(Command::Send { id, command }) => {
            send_command(&BootId::new(id)?, command, session).await
        }
        Some(Command::Fail { id }) => fail(&BootId::new(id)?, session).await,
    }
}

async fn list(session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let workers = store.workers().await?;

    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    let reply: Vec<_> = workers
        .iter()
        .map(|worker| WorkerReply::new(worker, now))
        .collect();
    session
        .output
        .result(&reply, |output| print(output, &reply));
    Ok(Exit::Ok)
}

async fn send_command(id: &BootId, command: CommandArg, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let command = match command {
        CommandArg::Continue => WorkerCommand::Continue,
        CommandArg::Pause => WorkerCommand::Pause,
        CommandArg::Stop => WorkerCommand::Stop,
    };
    if !store.command(id, command).await? {
        return Err(unknown_worker(id));
    }
    let reply = CommandReply {
        id: id.to_string(),
        command: command.as_str(),
    };
    session.output.result(&reply, |output| {
        output.line(&format!("command {} sent to worker {id}", reply.command));
    });
    Ok(Exit::Ok)
}

fn unknown_worker(id: &BootId) -> CliError {
    CliError::from(Error::worker_not_found(id))
}

async fn fail(id: &BootId, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let Some(rescued) = store.fail_worker(id).await? else {
        return Err(unknown_worker(id));
    };
    let reply = FailReply {
        id: id.to_string(),
        rescued,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{rescued} jobs returned to their queues"));
    });
    Ok(Exit::Ok)
}

fn print(output: &mut Output, workers: &[WorkerReply]) {
    if workers.is_empty() {
        output.note("no workers");
    }
    let row = |worker: &WorkerReply| {
        vec![
            worker.id.clone(),
            worker.host.clone(),
            worker.pid.to_string(),
            worker.queues.join(","),
            worker.state.to_owned(),
            worker.running.len().to_string(),
            format!(
                "{:.1}s ago",
                std::time::Duration::from_millis(worker.last_seen_ms).as_secs_f64()
            ),
        ]
    };
    let header = [
        "id",
        "host",
        "pid",
        "queues",
        "state",
        "running",
        "last seen",
    ];
    output.table(&header, workers.iter().map(row).collect());
}
