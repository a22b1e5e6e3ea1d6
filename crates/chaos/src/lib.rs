//! Crash tests of the stores with real processes: who is killed, what was said, what must hold.
//!
//! Actors (the `windlass-actor` binary) use one store at once and say on stdout what they are
//! about to do and what they were told. What a process wrote before it was killed stays in its
//! pipe, so these lines are a ledger outside of the store, and the store is judged by it.
//!
//! # Map
//!
//! In reading order: [`event`] is one line of an actor; [`ledger`] all lines of all actors;
//! [`invariants`] what must be true of them and of the store's [`listing`] at the end; [`payload`]
//! ties a job's bytes to its id. [`actor`] starts, watches and kills processes; [`nemesis`] is the plan of who
//! is killed when; [`synced`] says which answers came before the disk had them. [`roles`] is what
//! actors do: as processes, or as tasks of a test whose faults are those of a server.
//!
//! The worker runtime is judged the same way: [`roles::hand`] is a process that runs it, jobs say by their
//! [`behaviour`] what they do to it, and the [`witness`] sees their effects from outside.

pub mod actor;
pub mod behaviour;
pub mod event;
pub mod invariants;
pub mod ledger;
pub mod listing;
pub mod nemesis;
pub mod payload;
pub mod roles;
pub mod synced;
pub mod witness;

use std::time::Duration;

/// The queue all actors use.
pub const QUEUE: &str = "chaos";

/// The lease of the workers: short, so that a killed one's jobs are soon back.
pub const LEASE: Duration = Duration::from_millis(300);

/// How much earlier than [`LEASE`] a lease may seem to end: ends are whole milliseconds of the
/// store's clock, and actors read another.
pub const CLOCK_SLACK: Duration = Duration::from_millis(3);
