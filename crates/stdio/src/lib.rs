//! JSON lines over a pair of pipes.
//!
//! [`serve`] reads one request per line and writes one reply per line; [`Processor`] is the dispatcher
//! of the Processor Job Queue. Both work with any reader and writer. They only translate: all rules
//! about jobs are in the store.
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
//! `line_reader` and `object` read input with bounded memory; `writer` writes lines, and `undelivered`
//! releases claimed jobs whose reply could not be written; `reply` formats replies. [`session`] serves
//! all operations, [`processor`] is the dispatcher.

mod line_reader;
mod object;
pub mod processor;
mod reply;
pub mod session;
mod undelivered;
mod writer;

pub use line_reader::LINE_BYTES_MAX_DEFAULT;
pub use processor::{Identity, Log, Processor, ProcessorOptions};
pub use session::{Cause, Options, SessionEnd, serve};
pub use tokio_util::sync::CancellationToken;
pub use undelivered::UndeliveredJob;
