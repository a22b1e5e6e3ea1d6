//! `windlass completions`: prints a shell completion script. The script calls this program for every completion,
//! so that it offers the queues of the store.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use windlass::store::{JobState, Setting, Settings};
use windlass::{OpenMode, QueueName, StoreUrl};

use crate::args;
use crate::exit::{CliError, Exit, Result};
use crate::session::Session;
use crate::settings::CliSettings;

/// The environment variable by which the script asks for completions.
const VARIABLE: &str = "WINDLASS_COMPLETE";

/// Longest wait for the names of queues: a shell that waits is worse than one that knows no names.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Completes commands, flags, states, settings and the queues of the store.\n\n\
    Examples:\n  \
    echo 'source <(windlass completions bash)' >> ~/.bashrc\n  \
    echo 'source <(windlass completions zsh)' >> ~/.zshrc\n  \
    windlass completions fish > ~/.config/fish/completions/windlass.fish"
)]
pub(crate) struct Arguments {
    /// Shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Arguments, session: &mut Session) -> Result<Exit> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&arguments.shell.to_string());
    let shell = shell.ok_or_else(|| CliError::internal("a shell without completions"))?;
    shell
        .write_registration(VARIABLE, "windlass", "windlass", "windlass", &mut script)
        .map_err(|error| CliError::internal(error.to_string()))?;
    session.output.raw(&script);
    Ok(Exit::Ok)
}

/// Prints completions if the script asks for them.
pub(crate) fn run_if_requested() -> Option<Exit> {
    std::env::var_os(VARIABLE)?;
    let words: Vec<OsString> = std::env::args_os().collect();
    let folder = std::env::current_dir().ok();
    let completed = CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .bin("windlass")
        .try_complete(words, folder.as_deref());
    match completed {
        Ok(false) => None,
        Ok(true) => Some(Exit::Ok),
        // A shell shows no errors of completions.
        Err(_) => Some(Exit::Failed),
    }
}

/// The command line, with the values that clap does not know.
fn command() -> Command {
    args::command().mut_subcommands(|command| {
        // The queues of older systems are not in the store.
        if command.get_name() == "interop" {
            return command;
        }
        with_values(command)
    })
}

fn with_values(command: Command) -> Command {
    command
        .mut_subcommands(with_values)
        .mut_args(|arg| match arg.get_id().as_str() {
            "queue" | "queue_name" => arg.add(ArgValueCandidates::new(queues)),
            "state" => arg.add(ArgValueCandidates::new(states)),
            "pairs" => arg.add(ArgValueCandidates::new(settings)),
            "limits" => arg.add(ArgValueCandidates::new(group_limits)),
            _ => arg,
        })
}

fn states() -> Vec<CompletionCandidate> {
    let states = JobState::ALL.iter();
    states
        .map(|state| CompletionCandidate::new(state.as_str()))
        .collect()
}

fn group_limits() -> Vec<CompletionCandidate> {
    let limits = ["max_running=", "rate=", "burst="];
    limits.into_iter().map(CompletionCandidate::new).collect()
}

fn settings() -> Vec<CompletionCandidate> {
    let settings = Settings::default().all();
    let candidate = |setting: &Setting| CompletionCandidate::new(format!("{}=", setting.name()));
    settings.iter().map(candidate).collect()
}

/// The queues of the store, or none if it does not answer.
fn queues() -> Vec<CompletionCandidate> {
    let names = queue_names().unwrap_or_default();
    let names = names
        .iter()
        .map(|name| CompletionCandidate::new(name.as_str()));
    names.collect()
}

fn queue_names() -> Option<Vec<QueueName>> {
    let settings = CliSettings::resolve(store_flag().as_deref()).ok()?;
    if settings.store == StoreUrl::Memory {
        return None;
    }
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().ok()?;
    let names = async {
        let store = windlass::open(&settings.store, OpenMode::MustExist).await?;
        store.queues().await
    };
    let names = runtime.block_on(async { tokio::time::timeout(TIMEOUT, names).await });
    runtime.shutdown_background();
    names.ok()?.ok()
}

/// Returns the value of `--store` in the line that is completed.
fn store_flag() -> Option<String> {
    let words: Vec<String> = std::env::args().collect();
    let at = words.iter().position(|word| word.starts_with("--store"))?;
    match words[at].strip_prefix("--store=") {
        Some(url) => Some(url.to_owned()),
        None => words.get(at + 1).cloned(),
    }
}
