//! A store on another machine: every call is a request to the HTTP API of `windlass serve`.
//!
//! The server decides, as with any other interface; this crate only translates. A call whose connection
//! breaks after it was sent ends with an unknown outcome, unless it only reads, in which case it is
//! repeated.
//!
//! # Map
//!
//! [`address`] parses the URL and finds the token. `connection` connects, with or without TLS, and keeps
//! connections open. `call` sends an op by its route in the table of `windlass-api` and reads the reply.
//! [`RemoteStore`] is opened in `remote`; `store` has its methods, of which `claim_wait`, `outcomes`, `jobs`, `groups`, `errors` and
//! `schedules` have the longer ones, and sends long lists in `parts`; `watch` follows its events. [`JsonPoster`] uses the same
//! connections for other servers.

pub mod address;
mod call;
mod claim_wait;
mod connection;
mod errors;
mod groups;
mod jobs;
mod outcomes;
mod parts;
mod post;
mod remote;
mod schedules;
mod store;
mod watch;

pub use address::{HttpAddress, TOKEN_VARIABLE};
pub use post::JsonPoster;
pub use remote::RemoteStore;
