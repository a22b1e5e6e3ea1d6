//! Crash tests of the stores with real processes.
//!
//! Actors (the `windlass-actor` binary) share one store and print what they are about to do and the
//! replies they got. Lines written before a process is killed stay in its pipe, so they form a ledger
//! outside the store, and the store is checked against it.
//!
//! # Map
//!
//! In reading order: [`event`] is one line of an actor; [`ledger`] holds all lines of all actors;
//! [`invariants`] checks them and the final [`listing`] of the store; [`payload`] derives a job's
//! bytes from its id. [`actor`] starts, watches and kills processes; [`nemesis`] plans the kills;
//! [`synced`] finds replies sent before the log was synced. [`roles`] is what actors do, as processes
//! or as tasks of a test that injects server faults.
//!
//! The worker runtime is tested the same way: [`roles::runtime_worker`] is a process that runs it, the
//! payload of a job selects its [`behaviour`], and handlers record their effects in an
//! [`effect_log`].

pub mod actor;
pub mod behaviour;
pub mod effect_log;
pub mod event;
pub mod invariants;
pub mod ledger;
pub mod listing;
pub mod nemesis;
pub mod payload;
pub mod roles;
pub mod synced;

use std::time::Duration;

/// The queue all actors use.
pub const QUEUE: &str = "chaos";

/// The lease of the workers: short, so that jobs of killed workers are reclaimed soon.
pub const LEASE: Duration = Duration::from_millis(300);

/// How much earlier than [`LEASE`] a lease may appear to end: the store's clock has milliseconds, and
/// actors read another clock.
pub const CLOCK_SLACK: Duration = Duration::from_millis(3);
