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

mod answer;
mod call;
pub mod client;
mod counts;
mod delayed;
mod door;
mod events;
mod guard;
mod idempotency;
mod metrics;
mod openapi;
mod page;
mod pass;
mod patience;
mod refusal;
mod router;
pub mod scope;
mod serve;
mod table;
pub mod token;

pub use client::Client;
pub use patience::Waits;
pub use scope::{Grant, Scope};
pub use serve::{Options, Server};
pub use token::Tokens;
pub use tokio_util::sync::CancellationToken;

/// A route as others see it: how it is asked, where, and the scope it asks for.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str, Scope)> {
    table::ROUTES
        .iter()
        .map(|route| (route.method.as_str(), route.path, route.scope))
}
