//! The older systems on their own keys: a correct peer of redis-work-queue, Worqr and Blueque, and
//! a bridge from them into Windlass.
//!
//! # Map
//!
//! [`redis_work_queue`], [`worqr`] and [`blueque`] each join one older system; their words are that
//! system's words, and every change they make is one script of `lua/`. [`Server`] is the server
//! that keeps their keys, `reply` reads what scripts answer. [`bridge`] carries work over,
//! [`inspect`] shows what is there.

pub mod blueque;
pub mod bridge;
pub mod inspect;
pub mod redis_work_queue;
mod reply;
mod server;
pub mod worqr;

pub use server::Server;
