//! What every command of `windlass` uses: the settings and the store, output, exit codes and signals.
//!
//! # Map
//!
//! [`session`] is the context of one command: it resolves [`settings`], opens the store, and prints
//! through [`output`]. A command returns an [`exit`] code. [`signals`] and [`repeat`] are for commands
//! that run until they are stopped, [`pipes`] for those that serve stdin; [`env`](mod@env) and [`input`] read values.

#![expect(
    missing_docs,
    reason = "only commands use it; names that say all have no comment"
)]

pub mod env;
pub mod exit;
pub mod input;
pub mod output;
pub mod pipes;
pub mod repeat;
pub mod session;
pub mod settings;
pub mod signals;
