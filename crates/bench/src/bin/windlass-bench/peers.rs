//! `windlass-bench peers`: runs the same work on Windlass and on other queues, in turn on one machine.
//!
//! The programs are in `crates/bench/peers`. All measurements go to `target/bench/peers.json`, a table
//! and a plot of the medians to `docs/performance`.

mod ahead;
mod call;
mod cost;
mod fetch;
mod peer;
mod plot;
mod record;
mod server;
mod table;
mod turn;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use clap::builder::PossibleValuesParser;
use xtask::install;

use peer::{PEERS, Peer};
#[cfg(test)]
pub(crate) use record::example;
pub(crate) use record::{Record, Runs};
pub(crate) use table::section;

/// All measurements of the last run.
const RAW: &str = "target/bench/peers.json";

/// The medians as a table.
const TABLE: &str = "docs/performance/peers.md";

/// The medians as a plot.
const PLOT: &str = "docs/performance/peers.svg";

const COMMAND: &str = "cargo run --release -p windlass-bench -- peers";

const NEXT: &str = "next: fix that, or leave the queue out with `--only`, and run it again";

/// Command-line arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Queues to run [default: all in crates/bench/peers]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(PEERS.map(|peer| peer.name)),
        hide_possible_values = true
    )]
    only: Vec<String>,

    /// Number of rounds: enough for a median that one bad moment does not move
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Maximum number of jobs per measurement; each queue has its own number below it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
}

impl Arguments {
    /// The queues of this run, in the order of the table.
    fn peers(&self) -> Vec<&'static Peer> {
        let is_wanted =
            |peer: &&Peer| self.only.is_empty() || self.only.iter().any(|name| name == peer.name);
        PEERS.iter().filter(is_wanted).collect()
    }

    /// The command that repeats this run.
    fn shown(&self) -> String {
        let mut words = format!("{COMMAND} --rounds {}", self.rounds);
        if !self.only.is_empty() {
            words = format!("{words} --only {}", self.only.join(","));
        }
        if let Some(jobs) = self.jobs {
            words = format!("{words} --jobs {jobs}");
        }
        words
    }
}

/// Installs the queues, measures and writes; a queue that failed is listed with its last output.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<ExitCode, String> {
    let record = measure_all(root, arguments).map_err(|failure| format!("{failure}\n{NEXT}"))?;
    println!("\n{}", table::section(&record));
    println!("written: {RAW}, {TABLE}, {PLOT}");
    Ok(ExitCode::SUCCESS)
}

/// The results of the last run.
pub(crate) fn last(root: &Path) -> Option<Record> {
    let text = install::read(&root.join(RAW)).ok()?;
    serde_json::from_str(&text).ok()
}

fn measure_all(root: &Path, arguments: &Arguments) -> Result<Record, String> {
    let peers = arguments.peers();
    xtask::redis::ensure()?;
    for peer in &peers {
        fetch::install(root, peer)?;
    }
    let mut record = Record::begin(arguments);
    for peer in &peers {
        record.peers.push(Runs::of(root, peer)?);
    }
    for round in 1..=arguments.rounds {
        for (peer, runs) in peers.iter().zip(&mut record.peers) {
            one_turn(root, arguments, round, peer, runs);
        }
        // Saved after every round, so that a later failure loses nothing.
        crate::write_json(&root.join(RAW), &record)?;
        install::write(&root.join(TABLE), &table::page(&record))?;
        install::write(&root.join(PLOT), &plot::draw(&record))?;
    }
    Ok(record)
}

fn one_turn(root: &Path, arguments: &Arguments, round: u32, peer: &Peer, runs: &mut Runs) {
    let began = Instant::now();
    let turn = turn::take(root, peer, arguments.jobs);
    let took = began.elapsed().as_secs_f64();
    println!(
        "round {round} of {}: {} ({took:.0} s): {}",
        arguments.rounds,
        peer.name,
        turn.summary()
    );
    for failure in &turn.failures {
        println!("  {} failed: {failure}", peer.name);
    }
    runs.rounds.push(turn);
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &[&str]) -> Option<Arguments> {
        let parsed = Line::try_parse_from([&["peers"], line].concat());
        parsed.ok().map(|line| line.arguments)
    }

    #[test]
    fn a_run_can_be_limited_and_shows_how_to_repeat_it() {
        let line = ["--only", "rq,windlass", "--rounds", "2", "--jobs", "50"];
        let limited = parse(&line).expect("valid options");
        let names: Vec<_> = limited.peers().iter().map(|peer| peer.name).collect();
        assert_eq!(names, ["windlass", "rq"]);
        assert_eq!(
            limited.shown(),
            "cargo run --release -p windlass-bench -- peers --rounds 2 --only rq,windlass --jobs 50"
        );
        let all = parse(&[]).map(|all| all.peers().len());
        assert_eq!(all, Some(PEERS.len()));
    }

    #[test]
    fn invalid_options_are_refused() {
        for line in [
            &["--only", "no-such-queue"][..],
            &["--rounds", "0"],
            &["--jobs"],
        ] {
            assert!(parse(line).is_none(), "{line:?}");
        }
    }
}
