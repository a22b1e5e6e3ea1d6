//! Redis servers of one's own, for tests and benchmarks: started in milliseconds, ended with whoever
//! started them, shared with nobody.
//!
//! ```
//! use windlass_private_redis::{Cluster, Server, ServerOptions, Fsync};
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
//! let slot = windlass_private_redis::slot_of(b"{q}:ready");
//! let to = cluster.other_primary(slot);
//! cluster.move_slot(slot, to);
//! ```
//!
//! Everything here blocks the calling thread and takes `&self`. A test that works on a store at the
//! same time has a runtime of several threads, or calls from `spawn_blocking`.
//!
//! A server ends when its value is dropped, and also when the test process dies by SIGKILL. Which
//! program runs is up to `WINDLASS_REDIS_SERVER` (a path), so that the suite runs on Valkey too.
//!
//! # Map
//!
//! [`server`] with its [`options`] is one server, [`cluster`] and [`sentinels`] are several.
//! [`resp`] is how we talk to them, [`wait`] how we wait for them. [`port`] keeps ports apart,
//! `process` keeps a server from outliving its test, [`slot`] says where a key lives. [`steps`] is a
//! proxy that cuts a client off at any command; `pipe` is the protocol as it sees it.

pub mod cluster;
mod cluster_nodes;
pub mod options;
mod pipe;
pub mod port;
mod process;
pub mod resp;
pub mod sentinels;
pub mod server;
pub mod slot;
pub mod steps;
pub mod wait;

pub use cluster::Cluster;
pub use options::{Fsync, ServerOptions};
pub use port::Port;
pub use resp::{Connection, Reply};
pub use sentinels::Sentinels;
pub use server::Server;
pub use slot::slot_of;
pub use steps::{Cut, Steps};
pub use wait::until;
