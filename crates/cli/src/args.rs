//! What may be typed. Meaning comes later: here are only words, flags and their help.

#[cfg(test)]
mod help;

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    accept, bench, claim, clean, complete, completions, config, demo, doctor, enqueue, exec, fail,
    interop, job, processor, progress, queue, release, renew, serve, snooze, stdio, submit, tail,
    up, worker, workers,
};

/// A reliable job queue.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, arg_required_else_help = true)]
#[command(
    after_help = "Stores: sqlite:PATH; redis://[USER:PASSWORD@]HOST:PORT/DB, rediss://… with TLS, \
    redis+unix:///PATH, redis-sentinel://H1:P1,H2:P2/MASTER/DB, redis-cluster://H1:P1,H2:P2. \
    Redis takes ?prefix=NAME, ?durability=memory|replicated:N|synced and ?timeout=5s.\n\n\
    D is a duration such as 500ms, 10s, 5m, 1h30m or 2d. T is a time: RFC 3339 such as 2030-01-31T12:00:00Z, or \
    seconds since 1970.\n\n\
    Exit: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict, 5 not allowed, \
    69 store unreachable, 75 try later, 78 bad configuration, 124 timed out, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that stand anywhere on the line.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Where the jobs are
    #[arg(long, global = true, value_name = "URL", help_heading = "Everywhere")]
    #[arg(help = "Where the jobs are: sqlite:PATH, redis://HOST:PORT/DB … \
                [default: sqlite:windlass.db] [env: WINDLASS_STORE]")]
    pub(crate) store: Option<String>,

    /// Print results as JSON
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
}

/// One word per command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See the whole product in one bounded run: jobs, workers, a crash, and nothing lost
    Demo(demo::Arguments),
    /// One worker process of the demo
    #[command(hide = true)]
    DemoWorker(demo::worker::Arguments),
    /// Put one job, or one per line of NDJSON, into a queue
    Enqueue(Box<enqueue::Arguments>),
    /// Take jobs from a queue under a lease
    Claim(claim::Arguments),
    /// Accept a job that was offered with `claim --dispatch`
    Accept(accept::Arguments),
    /// Hold on to claimed jobs: move the end of their lease
    Renew(renew::Arguments),
    /// Say how far a job has come
    Progress(progress::Arguments),
    /// End a job well, with a result or without
    Complete(complete::Arguments),
    /// End an attempt badly: the job runs again later, or is dead
    Fail(fail::Arguments),
    /// Give a job back to the front of its queue, attempt not counted
    Release(release::Arguments),
    /// Put a job off until later, attempt not counted
    Snooze(snooze::Arguments),
    /// Run a command for each job of a queue
    Exec(Box<exec::Arguments>),
    /// Run jobs with resident processes that speak JSON lines
    Worker(Box<worker::Arguments>),
    /// Answer requests, one JSON object per line, on standard input and output
    Stdio(stdio::Arguments),
    /// Push jobs to idle workers over standard input and output
    Processor(Box<processor::Arguments>),
    /// Serve the HTTP API
    Serve(serve::Arguments),
    /// Serve the HTTP API, keep queues clean and, if a command is given, run it for each job
    Up(Box<up::Arguments>),
    /// Put in a burst of jobs with random due times
    Submit(submit::Arguments),
    /// Look at jobs and change them
    #[command(subcommand)]
    Job(job::Command),
    /// Look at queues and change them
    #[command(subcommand)]
    Queue(queue::Command),
    /// See who works, tell a worker something, or declare it dead
    Workers(workers::Arguments),
    /// Do the housekeeping now: promote what is due, reap what expired, prune what is old
    Clean(clean::Arguments),
    /// Join older systems on their own keys in Redis, or carry their work over
    #[command(subcommand)]
    Interop(interop::Command),
    /// See what happens to jobs, as it happens
    Tail(tail::Arguments),
    /// Check the health of the store and its queues
    Doctor(doctor::Arguments),
    /// Measure how fast the store, the client and the worker are, beside the bare engine
    Bench(Box<bench::Arguments>),
    /// One worker process of the bench
    #[command(hide = true)]
    BenchWorker(bench::WorkerArguments),
    /// Write a completion script for a shell
    Completions(completions::Arguments),
    /// See the settings in force and where they come from
    #[command(subcommand)]
    Config(config::Command),
    /// Print the version
    Version,
}

/// A held job and the token that shows it is held.
#[derive(Debug, Args)]
pub(crate) struct JobLeaseArgs {
    /// The queue
    pub(crate) queue: String,

    /// The job
    pub(crate) id: String,

    /// The token that the claim gave out
    #[arg(long, value_name = "T")]
    pub(crate) token: String,
}

/// Whether a line that could not be parsed asked for JSON.
pub(crate) fn asks_for_json(typed: impl Iterator<Item = OsString>) -> bool {
    typed
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_stand_anywhere() {
        for line in [
            "windlass --json --store memory: queue list",
            "windlass queue --json list --store memory:",
            "windlass queue list --store memory: --json",
        ] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.global.json, "{line}");
            assert_eq!(cli.global.store.as_deref(), Some("memory:"), "{line}");
        }
    }

    #[test]
    fn json_is_not_asked_for_behind_a_double_dash() {
        let typed = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(asks_for_json(typed("windlass claim --json").into_iter()));
        assert!(!asks_for_json(
            typed("windlass enqueue q -- --json").into_iter()
        ));
    }
}
