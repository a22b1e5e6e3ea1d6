//! `windlass up`: the HTTP door, the housekeeping and, if a command is given, a worker, in one process.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass::store::limits;
use windlass::{Role, Store};
use windlass_exec::Exec;
use windlass_server::CancellationToken;
use windlass_worker::Options;

use super::exec::program::Program;
use super::exec::work::{self, Pace};
use super::exec::{self, REAPING};
use super::serve::{self, DoorArguments};
use crate::exit::{Exit, Failure, Result};
use crate::session::Session;
use crate::signals::Signals;
use crate::variable;

/// How long between two looks at all queues.
const CLEAN_EVERY: Duration = Duration::from_secs(1);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "CMD is run as `windlass exec` runs it: payload on its standard input, its output is the result. \
    Tokens are given as to `windlass serve`.\n\n\
    Examples:\n  \
    windlass up\n  \
    windlass up --queue mail -j 4 -- sendmail -t"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    door: DoorArguments,

    /// A queue that CMD takes jobs from; may be given several times
    #[arg(long, value_name = "Q", requires = "command")]
    queue: Vec<String>,

    #[command(flatten)]
    pace: Pace,

    #[command(flatten)]
    program: Program,

    #[arg(long, value_enum)]
    #[arg(
        help = "Whether this process does the housekeeping; without any that does, jobs move \
                all the same [default: leader] [env: WORKER_ROLE]"
    )]
    role: Option<RoleWord>,

    /// The program and its arguments
    #[arg(last = true, value_name = "CMD", requires = "queue")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum RoleWord {
    /// It does
    #[default]
    Leader,
    /// It leaves it to others
    Follower,
}

/// Runs until it is told to stop; a second time, it stops at once.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let options = arguments.door.options()?;
    let role = arguments.role()?;
    let worker = arguments.worker(role)?;
    let program = arguments.exec(session)?;
    let mut signals = Signals::listen()?;
    let (store, stores) = work::stores(session).await?;
    let server = serve::open(Arc::clone(&store), options, session).await?;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.run(stop.clone()));
    if role == RoleWord::Leader {
        tokio::spawn(keep_clean(store, stop.clone()));
    }
    let worked = if let (Some(worker), Some(program)) = (worker, program) {
        let stopping = || stop.cancel();
        let worked = exec::work_on(&program, stores, worker, &mut signals, stopping).await;
        // A worker that ended by itself takes the door with it: somebody should see that.
        stop.cancel();
        Some(worked?)
    } else {
        signals.next().await;
        stop.cancel();
        None
    };
    tokio::select! {
        _ = serving => {}
        () = signals.next() => return Ok(Exit::Interrupted),
    }
    if let Some(summary) = worked {
        work::print(session, &summary);
    }
    Ok(Exit::Ok)
}

/// Promotes, reaps and prunes in all queues, now and then.
async fn keep_clean(store: Arc<dyn Store>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        // A store that does not answer now may do so later; whoever claims does the same work.
        if let Ok(queues) = store.queues().await {
            for queue in &queues {
                let _ = store.maintain(queue, limits::PAGE).await;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(CLEAN_EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
}

impl Arguments {
    fn role(&self) -> Result<RoleWord> {
        if let Some(role) = self.role {
            return Ok(role);
        }
        let role = variable::value("WORKER_ROLE", |word| {
            RoleWord::from_str(word, false).map_err(|_| {
                let help = "write WORKER_ROLE=leader or WORKER_ROLE=follower, or unset it";
                Failure::usage(format!("there is no role {word:?}"), help)
            })
        });
        Ok(role?.unwrap_or_default())
    }

    fn worker(&self, role: RoleWord) -> Result<Option<Options>> {
        if self.command.is_empty() {
            return Ok(None);
        }
        let queues = work::queues(&self.queue)?;
        let mut options = self.pace.options(queues, &self.command)?;
        "up".clone_into(&mut options.name);
        options.stop_wait = self.pace.kill_after()? + REAPING;
        options.role = match role {
            RoleWord::Leader => Role::Elected,
            RoleWord::Follower => Role::Follower,
        };
        options.check()?;
        Ok(Some(options))
    }

    fn exec(&self, session: &Session) -> Result<Option<Exec>> {
        if self.command.is_empty() {
            return Ok(None);
        }
        let options = self.program.options(&self.pace, &self.command, session)?;
        Ok(Some(Exec::new(options)?))
    }
}
