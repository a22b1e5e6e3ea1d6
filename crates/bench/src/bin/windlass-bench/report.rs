//! `windlass-bench report`: runs everything that docs/performance.md shows, and writes that page.
//!
//! All measurements are stored in `target/bench/ours.json`; `--page` only rewrites the page from that
//! file and `peers.json`.

mod metric;
mod page;

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xtask::install;

use crate::machine::{self, Machine};
use crate::peers;

/// All measurements of the last run.
const RAW: &str = "target/bench/ours.json";

/// The page that shows them.
const PAGE: &str = "docs/performance.md";

const NEXT: &str = "next: fix that and run it again; `--page` only writes the page";

/// Command-line arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only write the page, from the last measurements
    #[arg(long)]
    page: bool,
}

/// What is run, and what it is compared with.
#[derive(Debug, Deserialize)]
struct Design {
    /// Name on the page, and arguments.
    runs: Vec<(String, String)>,
    targets: Vec<metric::Target>,
}

/// The results of all runs.
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
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<ExitCode, String> {
    let design = toml::from_str(include_str!("report/targets.toml"));
    let design: Design = design.map_err(|error| format!("targets.toml: {error}"))?;
    let measured = if arguments.page {
        Ok(())
    } else {
        measure(root, &design)
    };
    let written = measured.and_then(|()| write_page(root, &design));
    written.map_err(|failure| format!("{failure}\n{NEXT}"))?;
    println!("written: {PAGE}");
    Ok(ExitCode::SUCCESS)
}

fn measure(root: &Path, design: &Design) -> Result<(), String> {
    xtask::redis::ensure()?;
    let mut results = Results {
        date: machine::today(),
        machine: Machine::detect(),
        runs: Vec::new(),
    };
    for (name, arguments) in &design.runs {
        let command = format!("windlass-bench run {arguments}");
        println!("{command}");
        let (lines, failure) = measure_one(arguments);
        if let Some(failure) = &failure {
            println!("  failed: {failure}");
        }
        results.runs.push(CommandResult {
            name: name.clone(),
            command,
            lines,
            failure,
        });
        // Saved after every command, so that a later failure loses nothing.
        crate::write_json(&root.join(RAW), &results)?;
    }
    Ok(())
}

/// Runs this program in a fresh process.
fn measure_one(arguments: &str) -> (Vec<Value>, Option<String>) {
    let program = std::env::current_exe();
    let output = program.and_then(|program| {
        let mut command = Command::new(program);
        command.arg("run").args(arguments.split(' ')).output()
    });
    match output {
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let failure =
                (!output.status.success()).then(|| format!("{}: {stderr}", output.status));
            let text = String::from_utf8_lossy(&output.stdout);
            let lines = text.lines().map(serde_json::from_str);
            (lines.filter_map(Result::ok).collect(), failure)
        }
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

fn write_page(root: &Path, design: &Design) -> Result<(), String> {
    let text = install::read(&root.join(RAW))?;
    let results: Results =
        serde_json::from_str(&text).map_err(|error| format!("{RAW}: {error}"))?;
    // Without results of the other queues, the page shows only Windlass.
    let peers = peers::last(root);
    let page = page::text(design, &results, peers.as_ref());
    install::write(&root.join(PAGE), &page)
}
