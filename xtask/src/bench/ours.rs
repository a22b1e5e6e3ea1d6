//! `cargo xtask bench`: `windlass bench` beside the bare engine, from nothing to docs/performance.md.
//!
//! Every figure is kept in `target/bench/ours.json`; `--page` writes the page anew from what is kept
//! there and in `peers.json`.

mod aims;
mod figure;
mod page;

use std::path::Path;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::machine::{self, Machine};
use super::record::Record;
use super::{RAW as PEERS, TABLE};
use crate::cargo::cargo;
use crate::install;

/// Every figure of the last run.
const RAW: &str = "target/bench/ours.json";

/// What people read of it.
const PAGE: &str = "docs/performance.md";

/// What is run, by the name it has on the page.
const RUNS: &[(&str, &str)] = &[
    (
        "in and out",
        "bench --private --limit --jobs 200000 --rounds 5",
    ),
    (
        "load",
        "bench process enqueue-bulk enqueue-one --private --jobs 200000 --rounds 5",
    ),
    ("pickup", "bench latency --private --rounds 5"),
    ("pace", "bench end-to-end --private --rounds 3"),
    (
        "durable",
        "bench process enqueue-bulk --private --aof off,everysec,always --jobs 100000 --rounds 3",
    ),
    (
        "due",
        "bench delayed --private --jobs 10000 --within 5s --rounds 3",
    ),
    (
        "due at once",
        "bench delayed --private --jobs 1000000 --within 60s --rounds 1",
    ),
    ("killed", "bench crash --private --rounds 2"),
    ("killed, one file", "bench crash --rounds 2"),
    (
        "one file",
        "bench process enqueue-bulk enqueue-one latency --rounds 5",
    ),
    (
        "one file, backlog",
        "bench backlog --backlog 1000,1000000 --rounds 1",
    ),
    ("HTTP", "bench http --private --rounds 3"),
    (
        "backlog",
        "bench backlog --private --backlog 1000,10000,1000000,10000000 --rounds 1",
    ),
];

/// Everything a run found out.
#[derive(Debug, Serialize, Deserialize)]
struct Ours {
    date: String,
    machine: Machine,
    runs: Vec<Ran>,
}

/// One command and what it printed, a line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
struct Ran {
    name: String,
    command: String,
    lines: Vec<Value>,
    /// Why there is less than there should be.
    failure: Option<String>,
}

/// Measures and writes; a command that failed is on the page with its last words.
pub(crate) fn run(root: &Path) -> ExitCode {
    told(measure(root).and_then(|()| write_page(root)))
}

/// Writes the page from what was measured last.
pub(crate) fn page(root: &Path) -> ExitCode {
    told(write_page(root))
}

fn told(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => {
            println!("written: {PAGE}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("why: {failure}");
            println!(
                "next: mend that and start again; `cargo xtask bench --page` writes the page alone"
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
        return Err("windlass-cli could not be built".to_owned());
    }
    let mut ours = Ours {
        date: machine::today(),
        machine: Machine::look(),
        runs: Vec::new(),
    };
    for (name, words) in RUNS {
        println!("windlass {words}");
        ours.runs.push(ran(root, name, words));
        // What was measured so far is kept, whatever becomes of the rest.
        let raw = serde_json::to_string_pretty(&ours).map_err(|error| error.to_string())?;
        install::create_folder(&root.join("target/bench"))?;
        install::write(&root.join(RAW), &(raw + "\n"))?;
    }
    Ok(())
}

fn ran(root: &Path, name: &str, words: &str) -> Ran {
    let program = root.join("target/release/windlass");
    let output = Command::new(program)
        .args(words.split(' '))
        .arg("--json")
        .output();
    let (text, failure) = match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let failure = (!output.status.success()).then(|| format!("{}: {said}", output.status));
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
    Ran {
        name: name.to_owned(),
        command: format!("windlass {words}"),
        lines: lines.collect(),
        failure,
    }
}

fn write_page(root: &Path) -> Result<(), String> {
    let read = |path: &str| install::read(&root.join(path));
    let ours: Ours =
        serde_json::from_str(&read(RAW)?).map_err(|error| format!("{RAW}: {error}"))?;
    // Without a run of the others, the page speaks of ours alone.
    let peers: Option<Record> = read(PEERS)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    install::write(&root.join(PAGE), &page::text(&ours, peers.as_ref(), TABLE))
}
