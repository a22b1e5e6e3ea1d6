//! Clients for three older queue systems (redis-work-queue, Worqr and Blueque) that work on those
//! systems' own Redis keys, and a bridge that migrates their work into Windlass.
//!
//! # Map
//!
//! [`redis_work_queue`], [`worqr`] and [`blueque`] each implement one older system and use its
//! terms. Every change they make is one script in `lua/`. [`InteropServer`] is the Redis server that
//! holds their keys, and `reply` parses script replies. [`bridge`] migrates work into Windlass;
//! [`inspect`] lists the queues on a server.

pub mod blueque;
pub mod bridge;
pub mod inspect;
pub mod redis_work_queue;
mod reply;
mod server;
pub mod worqr;

pub use server::InteropServer;
