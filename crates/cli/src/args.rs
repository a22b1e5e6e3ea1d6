//! The command line: commands, flags and their help. Values are checked later, by each command.

#[cfg(test)]
mod help;
pub(crate) mod hints;
mod program;
mod sections;
mod values;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use windlass_api::request::{Accept, Actions, Fail, Progress, Release, Snooze};
use windlass_interop::commands::{Interop, processor, submit};
use windlass_terminal::session::Global;

use crate::commands::verb::OnQueue;
use crate::commands::{
    bench, claim, completions, config, demo, doctor, enqueue, exec, groups, job, maintain, man,
    outcome, queue, schedules, serve, stdio, store, tail, token, top, up, worker, workers,
};
use crate::process_args::ProcessArgs;

/// A reliable job queue.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, arg_required_else_help = true)]
#[command(after_long_help = "Store URLs:\n  \
    sqlite:PATH\n  \
    redis://[USER:PASSWORD@]HOST:PORT/DB         rediss:// for TLS\n  \
    redis+unix:///PATH\n  \
    redis-sentinel://H1:P1,H2:P2/MASTER/DB\n  \
    redis-cluster://H1:P1,H2:P2\n  \
    http://HOST:PORT                             a store behind `windlass serve`; https:// for TLS\n  \
    Redis options: ?prefix=NAME, ?durability=memory|replicated:N|synced, ?timeout=5s\n  \
    HTTP options: ?token_file=FILE (or set WINDLASS_HTTP_TOKEN), ?ca=FILE, ?insecure=true\n\n\
    Values:\n  \
    D  a duration: 500ms, 10s, 5m, 1h30m, 2d\n  \
    T  a time: RFC 3339 (2030-01-31T12:00:00Z) or Unix seconds\n\n\
    Exit codes: 0 success, 1 failed, 2 usage error, 3 not found, 4 conflict, 5 not allowed, \
    69 store unreachable, 75 try again later, 78 bad configuration, 124 timed out, 130 interrupted")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands of `windlass`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run jobs, workers and a crash, then check that no job was lost
    Demo(demo::Arguments),
    /// Worker process of the demo
    #[command(hide = true)]
    DemoWorker(demo::worker::Arguments),
    /// Add a job to a queue, or one job per line of NDJSON
    Enqueue(Box<enqueue::Arguments>),
    /// Claim jobs from a queue under a lease
    Claim(claim::Arguments),
    /// Accept a job offered by `claim --dispatch`
    #[command(after_help = "Example:\n  windlass accept mail ID --token TOKEN --lease 5m")]
    Accept(OnQueue<Accept>),
    /// Extend the lease of claimed jobs
    #[command(
        after_help = "Prints the new end of the lease and the jobs that were asked to stop. Exits with 4 if the lease is lost.\n\n\
        Example:\n  windlass renew mail --token TOKEN --lease 2m"
    )]
    Renew(outcome::RenewArgs),
    /// Report the progress of a running job
    #[command(after_help = "Does not renew the lease.\n\n\
        Example:\n  windlass progress mail ID --token TOKEN 0.4 'page 4 of 10'")]
    Progress(OnQueue<Progress>),
    /// Complete a job, optionally with a result
    #[command(
        after_help = "Exits with 4 if the lease is lost (another worker may have the job), 3 if the job does not exist.\n\n\
        Example:\n  windlass complete mail ID --token TOKEN --result sent"
    )]
    Complete(outcome::CompleteArgs),
    /// Fail an attempt: the job is retried later or becomes dead
    #[command(
        after_help = "Example:\n  windlass fail mail ID --token TOKEN --error 'no route to host' --delay 10m"
    )]
    Fail(OnQueue<Fail>),
    /// Return a job to its queue without counting the attempt
    #[command(after_help = "Example:\n  windlass release mail ID --token TOKEN")]
    Release(OnQueue<Release>),
    /// Postpone a job, its group or its queue; uses no attempt
    #[command(
        after_help = "With the scope group or queue the job returns to the queue, and claims get no job of that group or queue until \
        then. A job without a group is postponed alone. `windlass groups resume` and `windlass queue resume` end a rest early.\n\n\
        Examples:\n  windlass snooze mail ID --token TOKEN --for 1h\n  \
        windlass snooze mail ID --token TOKEN --for 30s --scope group"
    )]
    Snooze(OnQueue<Snooze>),
    /// Run a program for each job of a queue
    Exec(Box<exec::Arguments>),
    /// Run jobs in long-lived processes that speak JSON lines
    Worker(Box<worker::Arguments>),
    /// Serve the JSON-lines API on stdin and stdout
    Stdio(stdio::Arguments),
    /// Dispatch jobs over stdin and stdout, as the Processor Job Queue
    Processor(Box<processor::Arguments>),
    /// Serve the HTTP API
    Serve(serve::Arguments),
    /// Serve HTTP, run maintenance and, with QUEUE CMD, a worker
    Up(Box<up::Arguments>),
    /// Create access tokens for the HTTP API
    #[command(subcommand)]
    Token(token::Command),
    /// Submit a burst of jobs with random due times
    Submit(submit::Arguments),
    /// Show and change jobs
    #[command(subcommand)]
    Job(job::Command),
    /// Show and change queues
    #[command(subcommand)]
    Queue(queue::Command),
    /// Show and limit the groups of a queue
    #[command(subcommand)]
    Groups(groups::Command),
    /// Enqueue jobs by cron pattern or interval
    #[command(subcommand)]
    Schedules(schedules::Command),
    /// List workers, send a worker a command, or declare it dead
    Workers(workers::Arguments),
    /// Show what operators did, newest first
    Actions(Actions),
    /// Fire schedules, promote due jobs, reap expired leases, prune
    #[command(alias = "clean")]
    Maintain(maintain::Arguments),
    /// Check every job and counter, and repair what is wrong
    Audit(maintain::AuditArguments),
    /// Back up or compact a SQLite store, or migrate a Redis store
    #[command(subcommand)]
    Store(store::Command),
    /// Use older queue systems on their own Redis keys, or migrate
    Interop(Interop),
    /// Watch queues, workers and failures live
    Top(top::Arguments),
    /// Print job events as they happen
    Tail(tail::Arguments),
    /// Check the health of the store and its queues
    Doctor(doctor::Arguments),
    /// Benchmark the store, client and worker against the bare engine
    Bench(Box<bench::Arguments>),
    /// Worker process of the benchmark
    #[command(hide = true)]
    BenchWorker(bench::WorkerArguments),
    /// Print a shell completion script
    Completions(completions::Arguments),
    /// Write the man pages
    #[command(hide = true)]
    Man(man::Arguments),
    /// Show the effective settings and their sources
    #[command(subcommand)]
    Config(config::Command),
    /// Print the version
    Version,
}

impl Command {
    /// Returns the flags of a command that runs until it is stopped.
    pub(crate) fn process_args(&self) -> Option<ProcessArgs> {
        match self {
            Self::Exec(arguments) => Some(arguments.worker.process),
            Self::Worker(arguments) => Some(arguments.worker.process),
            Self::Serve(arguments) => Some(arguments.process),
            Self::Up(arguments) => Some(arguments.process),
            Self::Maintain(arguments) => arguments.every.map(|_| arguments.process),
            _ => None,
        }
    }
}

/// Returns the definition of the command line.
pub(crate) fn command() -> clap::Command {
    sections::apply(values::in_one_line(Cli::command()))
}

/// Parses a command line. An error comes with whether it has `--json` on it.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Cli, (clap::Error, bool)> {
    let mut command = command();
    let words = program::separated(&command, words);
    let is_json = asks_for_json(words.iter().cloned());
    let matches = command.try_get_matches_from_mut(words);
    let parsed = matches.and_then(|matches| {
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    parsed.map_err(|error| (error, is_json))
}

/// Returns whether a command line that failed to parse has `--json` on it.
fn asks_for_json(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        command().debug_assert();
    }

    #[test]
    fn global_flags_stand_anywhere() {
        for line in [
            "windlass --json --store memory: queue list",
            "windlass queue --json list --store memory:",
            "windlass queue list --store memory: --json",
        ] {
            let cli = parse(line.split(' ').map(OsString::from).collect()).unwrap();
            assert!(cli.global.json, "{line}");
            assert_eq!(cli.global.store.as_deref(), Some("memory:"), "{line}");
        }
    }

    #[test]
    fn json_is_not_asked_for_behind_a_double_dash() {
        let arguments = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(asks_for_json(
            arguments("windlass claim --json").into_iter()
        ));
        assert!(!asks_for_json(
            arguments("windlass enqueue q -- --json").into_iter()
        ));
    }
}
