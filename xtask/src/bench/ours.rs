//! `cargo xtask bench`: runs `windlass bench` against the bare engine and writes docs/performance.md.
//!
//! All measurements are stored in `target/bench/ours.json`; `--page` only rewrites the page from that
//! file and `peers.json`.

mod metric;
mod page;
mod targets;

use std::path::Path;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::machine::{self, Machine};
use super::record::Record;
use super::{RAW as PEERS, TABLE};
use crate::cargo::cargo;
use crate::install;

/// All measurements of the last run.
const RAW: &str = "target/bench/ours.json";

/// The page that shows them.
const PAGE: &str = "docs/performance.md";

/// The runs: name on the page, and command.
const RUNS: &[(&str, &str)] = &[
    (
        "overview",
        "bench --private --limit --jobs 200000 --rounds 5",
    ),
    (
        "load",
        "bench process enqueue-bulk enqueue-one --private --jobs 200000 --rounds 5",
    ),
    ("pickup", "bench latency --private --rounds 5"),
    ("paced", "bench end-to-end --private --rounds 3"),
    (
        "durability",
        "bench process enqueue-bulk --private --aof off,everysec,always --jobs 100000 --rounds 3",
    ),
    (
        "delayed",
        "bench delayed --private --jobs 10000 --within 5s --rounds 3",
    ),
    (
        "delayed, 1 000 000 jobs",
        "bench delayed --private --jobs 1000000 --within 60s --rounds 1",
    ),
    ("crash", "bench crash --private --rounds 2"),
    ("crash, SQLite", "bench crash --rounds 2"),
    (
        "SQLite",
        "bench process enqueue-bulk enqueue-one latency --rounds 5",
    ),
    (
        "SQLite, backlog",
        "bench backlog --backlog 1000,1000000 --rounds 1",
    ),
    ("HTTP", "bench http --private --rounds 3"),
    (
        "backlog",
        "bench backlog --private --backlog 1000,10000,1000000,10000000 --rounds 1",
    ),
];

/// The results of `cargo xtask bench`.
#[derive(Debug, Serialize, Deserialize)]
struct Results {
    date: String,
    machine: Machine,
    runs: Vec<CommandResult>,
}

/// One command and the JSON lines it printed.
#[derive(Debug, Serialize, Deserialize)]
struct CommandResult {
    name: String,
    command: String,
    lines: Vec<Value>,
    /// Why lines are missing.
    failure: Option<String>,
}

/// Measures and writes the page; a command that failed is listed with its output.
pub(crate) fn run(root: &Path) -> ExitCode {
    report(measure(root).and_then(|()| write_page(root)))
}

/// Writes the page from the last measurements.
pub(crate) fn page(root: &Path) -> ExitCode {
    report(write_page(root))
}

fn report(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => {
            println!("written: {PAGE}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("why: {failure}");
            println!(
                "next: fix that and run it again; `cargo xtask bench --page` only writes the page"
            );
            ExitCode::FAILURE
        }
    }
}

fn measure(root: &Path) -> Result<(), String> {
    crate::check::ensure_redis()?;
    let build = ["build", "--release", "--package", "windlass-cli"];
    let status = cargo(root, &build).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("cannot build windlass-cli".to_owned());
    }
    let mut results = Results {
        date: machine::today(),
        machine: Machine::detect(),
        runs: Vec::new(),
    };
    for (name, arguments) in RUNS {
        println!("windlass {arguments}");
        results.runs.push(measure_one(root, name, arguments));
        // Saved after every command, so that a later failure loses nothing.
        let raw = serde_json::to_string_pretty(&results).map_err(|error| error.to_string())?;
        install::create_folder(&root.join("target/bench"))?;
        install::write(&root.join(RAW), &(raw + "\n"))?;
    }
    Ok(())
}

fn measure_one(root: &Path, name: &str, arguments: &str) -> CommandResult {
    let program = root.join("target/release/windlass");
    let output = Command::new(program)
        .args(arguments.split(' '))
        .arg("--json")
        .output();
    let (text, failure) = match output {
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let failure =
                (!output.status.success()).then(|| format!("{}: {stderr}", output.status));
            (
                String::from_utf8_lossy(&output.stdout).into_owned(),
                failure,
            )
        }
        Err(error) => (String::new(), Some(error.to_string())),
    };
    if let Some(failure) = &failure {
        println!("  failed: {failure}");
    }
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    CommandResult {
        name: name.to_owned(),
        command: format!("windlass {arguments}"),
        lines: lines.collect(),
        failure,
    }
}

fn write_page(root: &Path) -> Result<(), String> {
    let read = |path: &str| install::read(&root.join(path));
    let results: Results =
        serde_json::from_str(&read(RAW)?).map_err(|error| format!("{RAW}: {error}"))?;
    // Without results of the other queues, the page shows only Windlass.
    let peers: Option<Record> = read(PEERS)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    install::write(
        &root.join(PAGE),
        &page::text(&results, peers.as_ref(), TABLE),
    )
}
