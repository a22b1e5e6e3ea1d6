//! A client of Redis and Valkey that knows whether a call was sent: one server, Sentinel or Cluster,
//! with TLS, retries and deadlines.
//!
//! A call ends as done, refused or unknown: if the connection is lost after the call was sent, the error
//! is `OutcomeUnknown`. Calls that may be repeated are repeated until a reply arrives or they time out.
//!
//! ```no_run
//! use windlass_redis_link::{LinkAddress, Link, LinkMode};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
//! let address = LinkAddress::parse("redis-sentinel://10.0.0.1,10.0.0.2/main/0?timeout=5s")?;
//! let link = Link::open(&address, LinkMode::Store).await?;
//! let mut get = redis::cmd("GET");
//! get.arg("key");
//! let value = link.ask(b"key", &get).await?;
//! # let _ = value; Ok(()) }
//! ```
//!
//! # Map
//!
//! `address` parses a URL, `link` connects to the servers and sends calls, `script` is what it runs,
//! [`reply`] decodes replies, `error` maps errors of Redis and the network, [`deadline`] bounds the
//! calls of one task, [`raw_client`] is for the keys of other systems.

mod address;
pub mod deadline;
mod error;
mod link;
pub mod raw_client;
pub mod reply;
pub mod script;

pub use address::LinkAddress;
pub use link::{
    Call, ChannelKind, Link, LinkMode, LinkProgress, Resend, ServerInfo, Subscriber,
    SubscriberEvent, WaitOn,
};
pub use script::Script;
