//! One module per command, and the dispatch to them.

mod actions;
pub(crate) mod bench;
pub(crate) mod claim;
pub(crate) mod completions;
pub(crate) mod config;
mod confirm;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod enqueue;
pub(crate) mod exec;
pub(crate) mod groups;
mod hint;
pub(crate) mod job;
pub(crate) mod maintain;
pub(crate) mod man;
pub(crate) mod outcome;
pub(crate) mod queue;
pub(crate) mod schedules;
pub(crate) mod serve;
pub(crate) mod start;
pub(crate) mod stdio;
pub(crate) mod store;
pub(crate) mod tail;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod up;
pub(crate) mod verb;
pub(crate) mod version;
pub(crate) mod worker;
pub(crate) mod workers;

use windlass_interop::commands::{self as interop, processor, submit};
use windlass_terminal::repeat;

use crate::args::Command;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Runs a command.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::Demo(arguments) => demo::run(arguments, session).await,
        Command::DemoWorker(arguments) => demo::worker::run(arguments, session).await,
        Command::Bench(arguments) => bench::run(*arguments, session).await,
        Command::BenchWorker(arguments) => bench::worker(arguments).await,
        Command::Enqueue(arguments) => enqueue::run(*arguments, session).await,
        Command::Claim(arguments) => claim::run(arguments, session).await,
        Command::Accept(arguments) => verb::run(arguments, session).await,
        Command::Renew(arguments) => outcome::renew(arguments, session).await,
        Command::Progress(arguments) => verb::run(arguments, session).await,
        Command::Complete(arguments) => outcome::complete(arguments, session).await,
        Command::Fail(arguments) => verb::run(arguments, session).await,
        Command::Release(arguments) => verb::run(arguments, session).await,
        Command::Snooze(arguments) => verb::run(arguments, session).await,
        Command::Exec(arguments) => exec::run(*arguments, session).await,
        Command::Worker(arguments) => worker::run(*arguments, session).await,
        Command::Stdio(arguments) => stdio::run(arguments, session).await,
        Command::Processor(arguments) => processor::run(*arguments, session).await,
        Command::Serve(arguments) => serve::run(arguments, session).await,
        Command::Up(arguments) => up::run(*arguments, session).await,
        Command::Submit(arguments) => submit::run(arguments, session).await,
        Command::Job(command) => job::run(command, session).await,
        Command::Queue(command) => queue::run(command, session).await,
        Command::Groups(command) => groups::run(command, session).await,
        Command::Schedules(command) => schedules::run(command, session).await,
        Command::Workers(arguments) => workers::run(arguments, session).await,
        Command::Actions(request) => actions::run(request, session).await,
        Command::Maintain(arguments) => maintain::run(arguments, session).await,
        Command::Audit(arguments) => maintain::audit(arguments, session).await,
        Command::Store(command) => store::run(&command, session).await,
        Command::Interop(command) => interop::run(command, session, exec::child::launch()).await,
        Command::Tail(arguments) => tail::run(arguments, session).await,
        Command::Top(arguments) => top::run(arguments, session).await,
        Command::Token(command) => token::run(&command, session),
        Command::Doctor(arguments) => doctor::run(&arguments, session).await,
        Command::Completions(arguments) => completions::run(&arguments, session),
        Command::Man(arguments) => man::run(&arguments, session),
        Command::Config(command) => config::run(&command, session),
        Command::Version => version::run(session),
    }
}
