//! `windlass workers`: who is alive, on what; `workers tell`, which leaves word for one; and `workers
//! fail`, which returns a worker's jobs now.

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use windlass::store::{Clock, SystemClock, WorkerCommand};
use windlass::{BootId, Timestamp};
use windlass_api::{Error, WorkerReply};

use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// See who is alive; the same as `windlass workers`
    List,
    /// Leave word for a worker: it hears it with its next beat, within seconds
    Tell {
        /// The worker, as `windlass workers` names it
        id: String,
        /// quiet = claim no more; continue = claim again; stop = finish and leave
        #[arg(value_enum)]
        word: Word,
    },
    /// Declare a worker dead: its jobs go back now
    Fail {
        /// The worker
        id: String,
    },
}

/// What a worker can be told.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Word {
    Quiet,
    Continue,
    Stop,
}

#[derive(Debug, Serialize)]
struct TellReply {
    id: String,
    told: &'static str,
}

#[derive(Debug, Serialize)]
struct FailReply {
    id: String,
    rescued: u64,
}

/// Lists the workers, tells one something, or fails one.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    match arguments.command {
        None | Some(Command::List) => list(session).await,
        Some(Command::Tell { id, word }) => tell(&BootId::new(id)?, word, session).await,
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

async fn tell(id: &BootId, word: Word, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let told = match word {
        Word::Quiet => WorkerCommand::Pause,
        Word::Continue => WorkerCommand::Continue,
        Word::Stop => WorkerCommand::Stop,
    };
    if !store.command(id, told).await? {
        return Err(nobody(id));
    }
    let reply = TellReply {
        id: id.to_string(),
        told: told.as_str(),
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{id} will be told: {}", reply.told));
    });
    Ok(Exit::Ok)
}

fn nobody(id: &BootId) -> Failure {
    Failure::from(Error::worker_not_found(id))
}

async fn fail(id: &BootId, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let Some(rescued) = store.fail_worker(id).await? else {
        return Err(nobody(id));
    };
    let reply = FailReply {
        id: id.to_string(),
        rescued,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{rescued} jobs went back"));
    });
    Ok(Exit::Ok)
}

fn print(output: &mut Output, workers: &[WorkerReply]) {
    if workers.is_empty() {
        output.talk("no worker was seen lately");
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
    let header = ["id", "host", "pid", "queues", "state", "running", "seen"];
    output.table(&header, workers.iter().map(row).collect());
}
