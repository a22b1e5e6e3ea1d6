//! The doors that speak JSON lines over a pair of pipes.
//!
//! [`serve`] answers one request per line with one reply per line; [`Processor`] is the dispatcher of
//! the Processor Job Queue. Both read any reader and write any writer. Doors translate and the store
//! decides: what a job may do next is never thought about here.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_core::SystemClock;
//! use windlass_stdio::{CancellationToken, Options, serve};
//! use windlass_store_memory::MemoryStore;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let store = MemoryStore::new(Arc::new(SystemClock));
//! let input = &br#"{"op":"enqueue","ref":1,"queue":"mail","id":"a","payload":"hello"}"#[..];
//! let mut output = Vec::new();
//! serve(&store, input, &mut output, Options::default(), CancellationToken::new()).await;
//! let reply = String::from_utf8(output).unwrap();
//! assert!(reply.starts_with(r#"{"ref":1,"ok":true,"id":"a","queue":"mail""#), "{reply}");
//! # }
//! ```
//!
//! # Map
//!
//! `lines` and `object` read what comes, within bounds; `outlet` writes, and `unheard` gives
//! back what nobody heard of; `reply` puts answers into their shape. [`session`] is the door of all
//! verbs, [`processor`] the dispatcher.

mod line_reader;
mod object;
pub mod processor;
mod reply;
pub mod session;
mod undelivered;
mod writer;

pub use line_reader::LINE_BYTES_MAX_DEFAULT;
pub use processor::{Identity, Log, Processor, ProcessorOptions};
pub use session::{Cause, Ended, Options, serve};
pub use tokio_util::sync::CancellationToken;
pub use undelivered::Returned;
