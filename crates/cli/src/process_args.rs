//! Flags of commands that run until they are stopped: what they log, and how they start.

use clap::{Args, ValueEnum};

/// Flags of `exec`, `worker`, `up`, `serve` and `maintain --every`.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ProcessArgs {
    /// Also log every job and every request
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Log options")]
    pub(crate) verbose: bool,

    /// Log only errors, such as dead jobs
    #[arg(short, long, help_heading = "Log options")]
    pub(crate) quiet: bool,

    /// Format of the log on stderr
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t,
        help_heading = "Log options"
    )]
    pub(crate) log: LogFormat,

    /// Exit with 69 if the store cannot be reached at the start, instead of retrying
    #[arg(long)]
    pub(crate) fail_fast: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}
