//! Private Redis servers for tests and benchmarks: they start in milliseconds and end with the process
//! that started them.
//!
//! ```
//! use windlass_testkit::redis::{Cluster, Server, ServerOptions, Fsync};
//!
//! let server = Server::start(); // a unix socket, nothing on disk
//! assert!(server.url().starts_with("redis+unix:///"));
//! assert_eq!(server.command(&["SET", "a", "1"]).text(), "OK");
//!
//! let durable = ServerOptions::new().append_only(Fsync::Always).start();
//! durable.command(&["SET", "a", "1"]).ok();
//! durable.kill(); // SIGKILL
//! durable.restart(); // same folder, same address, loaded when this returns
//! assert_eq!(durable.command(&["GET", "a"]).text(), "1");
//!
//! let cluster = Cluster::start(); // three primaries, three replicas
//! let slot = windlass_testkit::redis::slot_of(b"{q}:ready");
//! let to = cluster.other_primary(slot);
//! cluster.move_slot(slot, to);
//! ```
//!
//! Everything here blocks the calling thread and takes `&self`. A test that uses a store at the same
//! time needs a multi-threaded runtime, or `spawn_blocking`. What cannot be done panics, with the log of
//! the server where it helps; functions named `try_` and [`Server::ask`] return the error instead.
//!
//! A server ends when its value is dropped, and also when the test process is killed by SIGKILL. Set
//! `WINDLASS_REDIS_SERVER` to the path of another server, such as `valkey-server`, to test that one.
//!
//! # Map
//!
//! [`server`] with its [`options`] is one server, [`cluster`] and [`sentinels`] are groups.
//! [`resp`] is a small client, [`wait`] polls for a condition. [`port`] reserves ports, `process`
//! ends a server with its test, [`slot`] computes the slot of a key. [`fault_proxy`] disconnects a
//! client at a chosen command; `framing` splits the protocol into messages for it. [`slow_proxy`] is a
//! slow link.

pub mod cluster;
mod cluster_nodes;
pub mod fault_proxy;
mod framing;
pub mod options;
pub mod port;
mod process;
pub mod resp;
pub mod sentinels;
pub mod server;
pub mod slot;
pub mod slow_proxy;
pub mod wait;

pub use cluster::Cluster;
pub use fault_proxy::{CutPoint, FaultProxy};
pub use options::{Fsync, ServerOptions};
pub use port::Port;
pub use resp::{Connection, Reply};
pub use sentinels::Sentinels;
pub use server::Server;
pub use slot::slot_of;
pub use slow_proxy::SlowProxy;
pub use wait::until;
