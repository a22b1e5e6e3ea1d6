//! Clients for four older queue systems (redis-work-queue, Worqr, Blueque and the Delayed Queue App)
//! that work on those systems' own Redis keys, and a bridge that migrates their work, and that of the
//! Processor Job Queue, into Windlass.
//!
//! # Map
//!
//! [`redis_work_queue`], [`worqr`], [`blueque`] and [`delayed_queue`] each implement one older system
//! and use its terms; [`processor`] is the dispatcher of the Processor Job Queue, and what the bridge needs. Every change they make is one
//! script in `lua/`. [`InteropServer`] is the Redis server that holds their keys, `reply` parses
//! script replies, `scan` reads keys in pages, and `id` generates ids. [`bridge`] migrates work into Windlass; [`inspect`] lists the queues on a server.
//! [`commands`] are the commands of all of them.

pub mod blueque;
pub mod bridge;
pub mod commands;
pub mod delayed_queue;
mod id;
pub mod inspect;
pub mod processor;
pub mod redis_work_queue;
mod reply;
mod scan;
mod server;
pub mod worqr;

pub use server::InteropServer;
