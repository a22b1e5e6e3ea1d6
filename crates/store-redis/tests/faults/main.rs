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
mod contents;
mod crew;
mod failover;
mod flush;
mod full;
mod history;
mod idle;
mod level;
mod parts;
mod proxy;
mod quiet_types;
mod restart;
mod scripts;
mod storm;
mod support;
mod unheard;
mod verbs;
mod ways_in;
mod world;
mod wrong_type;
