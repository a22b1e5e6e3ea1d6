//! `cargo xtask bench`: compares Windlass with the bare engine ([`ours`]). With `--peers` it runs the
//! same work on Windlass and on other queues, in turn on one machine.
//!
//! The programs are in `bench/peers`. All measurements go to `target/bench/peers.json`, a table and a
//! plot of the medians to `docs/performance`.

mod call;
mod extent;
mod fetch;
mod machine;
mod measure;
mod number;
pub(crate) mod ours;
mod peer;
mod plot;
mod record;
mod server;
mod table;
mod turn;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) use extent::Extent;

use crate::install;
use peer::Peer;
use record::{Record, Runs};

/// All measurements of the last run.
const RAW: &str = "target/bench/peers.json";

/// The medians as a table.
const TABLE: &str = "docs/performance/peers.md";

/// The medians as a plot.
const PLOT: &str = "docs/performance/peers.svg";

/// Installs the queues, measures and writes; a queue that failed is listed with its last output.
pub(crate) fn run(root: &Path, extent: &Extent) -> ExitCode {
    match measure_all(root, extent) {
        Ok(record) => {
            println!("\n{}", table::section(&record));
            println!("written: {RAW}, {TABLE}, {PLOT}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("why: {failure}");
            println!("next: fix that, or leave the queue out with `--only`, and run it again");
            ExitCode::FAILURE
        }
    }
}

fn measure_all(root: &Path, extent: &Extent) -> Result<Record, String> {
    let peers = extent.peers();
    crate::check::ensure_redis()?;
    for peer in &peers {
        fetch::install(root, peer)?;
    }
    let mut record = Record::begin(extent);
    for peer in &peers {
        record.peers.push(Runs::of(root, peer)?);
    }
    for round in 1..=extent.rounds {
        for (at, peer) in peers.iter().enumerate() {
            one_turn(root, extent, round, peer, &mut record.peers[at]);
        }
        // Saved after every round, so that a later failure loses nothing.
        save(root, &record)?;
    }
    Ok(record)
}

fn one_turn(root: &Path, extent: &Extent, round: u32, peer: &Peer, runs: &mut Runs) {
    let began = Instant::now();
    let turn = turn::take(root, peer, extent.jobs);
    let took = began.elapsed().as_secs_f64();
    println!(
        "round {round} of {}: {} ({took:.0} s): {}",
        extent.rounds,
        peer.name,
        turn.summary()
    );
    for failure in &turn.failures {
        println!("  {} failed: {failure}", peer.name);
    }
    runs.rounds.push(turn);
}

fn save(root: &Path, record: &Record) -> Result<(), String> {
    for folder in ["target/bench", "docs/performance"] {
        install::create_folder(&root.join(folder))?;
    }
    let raw = serde_json::to_string_pretty(record).map_err(|error| error.to_string())?;
    install::write(&root.join(RAW), &(raw + "\n"))?;
    install::write(&root.join(TABLE), &table::page(record))?;
    install::write(&root.join(PLOT), &plot::draw(record))
}
