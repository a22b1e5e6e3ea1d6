//! The Redis store under faults: servers and connections that die, flushed scripts, full memory,
//! migrating slots. An external ledger records what the store acknowledged.
//!
//! `WINDLASS_ROUNDS=N` makes each test N times as long (default: 1).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails at the first error and prints its progress"
)]

mod cluster;
mod connections;
mod contents;
mod cut_connections;
mod cut_off;
mod deadline;
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
mod resent_calls;
mod restart;
mod schedules;
mod scripts;
mod shared_polls;
mod slow_link;
mod support;
mod verbs;
mod workload;
mod wrong_type;
