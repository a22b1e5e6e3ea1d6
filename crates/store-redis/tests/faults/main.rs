//! The Redis store under faults: servers and connections that die, scripts that are forgotten, memory
//! that runs out, slots that move. An outside ledger says what was promised.
//!
//! `WINDLASS_ROUNDS=N` makes each of them N times as long (1 unless said).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it went through"
)]

mod cluster;
mod connections;
mod contents;
mod cut_connections;
mod durability;
mod failover;
mod fast_path_types;
mod fixture;
mod flush;
mod full;
mod history;
mod idle;
mod lost_replies;
mod partitions;
mod proxy;
mod restart;
mod scripts;
mod support;
mod verbs;
mod workload;
mod wrong_type;
