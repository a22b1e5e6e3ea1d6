//! Worqr's operations, compared with the recorded keys and channels of the original.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod contract;
mod cuts;
mod defects;
mod fixture;
mod killed;
mod mixed;
mod original;
mod ownership;
mod retries;
mod subscriber;
mod worker;
