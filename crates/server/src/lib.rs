//! The HTTP door: every verb over HTTP, for programs of any language.
//!
//! It translates and decides nothing: a path, a query and a body become the fields of a verb, and
//! the verb's reply becomes the answer. There is no state but what a restart may lose.
//!
//! # Map
//!
//! `table` is the one list of routes; `router` and `openapi` are made from it. `serve` listens and
//! bounds connections, `patience` ends slow ones; `guard` stands before every route ([`scope`], [`token`]),
//! and `pass` is what it hands to a caller; `call` reads a request,
//! `answer` answers it, `refusal` is how the door says no. `delayed`, `events`, `metrics` and `page`
//! are the routes that are no verbs. [`client`] is the other end, for `windlass submit` and tests.

mod caller;
pub mod client;
mod counters;
mod delayed;
mod error;
mod events;
mod guard;
mod handlers;
mod idempotency;
mod metrics;
mod openapi;
mod page;
mod request;
mod router;
pub mod scope;
mod serve;
mod state;
mod table;
mod timeouts;
pub mod token;

pub use client::Client;
pub use scope::{Grant, Scope};
pub use serve::{Options, Server};
pub use timeouts::Waits;
pub use token::Tokens;
pub use tokio_util::sync::CancellationToken;

/// A route as others see it: how it is asked, where, and the scope it asks for.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str, Scope)> {
    table::ROUTES
        .iter()
        .map(|route| (route.method.as_str(), route.path, route.scope))
}
