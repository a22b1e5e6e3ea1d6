//! JSON lines over a pair of pipes.
//!
//! [`serve`] reads one request per line and writes one reply per line, with any reader and writer. It
//! only translates: all rules about jobs are in the store.
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
//! `line_reader` reads input with bounded memory; `writer` writes lines, and `undelivered` releases
//! claimed jobs whose reply could not be written; `reply` formats replies. [`session`] serves all
//! operations. The dispatcher of the Processor Job Queue in `windlass-interop` uses the same parts.

mod line_reader;
mod reply;
pub mod session;
mod undelivered;
mod writer;

pub use line_reader::{InputLine, LINE_BYTES_MAX_DEFAULT, LineReader};
pub use reply::format_reply;
pub use session::{Cause, Options, SessionEnd, serve};
pub use tokio_util::sync::CancellationToken;
pub use undelivered::{UndeliveredJob, release_all};
pub use writer::LineWriter;
