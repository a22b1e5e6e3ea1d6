//! The job model, its rules, and the [`Store`] trait that every store implements. No I/O.
//!
//! ```
//! use windlass_core::{NewJob, Priority, RetryPolicy};
//! use std::time::Duration;
//!
//! let job = NewJob::new("send the letter")
//!     .priority(Priority::new(2)?)
//!     .delay(Duration::from_secs(60))
//!     .retry(RetryPolicy::default().max_attempts(5));
//! assert_eq!(job.payload.as_ref(), b"send the letter");
//! # Ok::<(), windlass_core::Error>(())
//! ```
//!
//! # Map
//!
//! In reading order: [`name`], [`time`] and [`due`] are small value types; [`job`] is the job itself;
//! [`duplicate`] decides what an enqueue does to a job that has its id or unique key, [`enqueued`] is its reply;
//! [`retry`] computes when a failed job runs again, [`attempt`] is the record of its attempts; [`schedule`] enqueues jobs at its instants; [`token`], [`claim`] and [`outcome`] cover a lease from
//! claim to outcome; [`change`] is what operators do to jobs, [`filter`] selects them, [`action`] is the log of it; [`rate`] and [`group`] limit how many jobs a queue hands out,
//! and [`explain`] says why a job waits;
//! [`queue`], [`history`], [`worker`] and [`maintenance`] are
//! stats, their history, worker records and housekeeping; [`store`] is the trait that ties them together, with all their
//! types, [`error`] its errors, [`error_group`] groups those of jobs, and [`wait`] waits for jobs and outcomes. [`metrics`] names what workers and
//! servers measure.

pub mod action;
pub mod attempt;
pub mod change;
pub mod claim;
pub mod due;
#[cfg(feature = "dump")]
pub mod dump;
pub mod duplicate;
pub mod duration;
pub mod enqueued;
pub mod error;
pub mod error_group;
pub mod explain;
pub mod filter;
pub mod group;
pub mod headers;
pub mod history;
pub mod job;
mod keep;
pub mod limits;
pub mod maintenance;
pub mod metrics;
pub mod name;
pub mod notification;
pub mod outcome;
pub mod priority;
pub mod queue;
pub mod rate;
pub mod retry;
pub mod schedule;
pub mod setting;
pub mod store;
mod text_enum;
pub mod time;
pub mod token;
pub mod wait;
pub mod worker;

pub use bytes::Bytes;
pub use error::{Error, ErrorKind, Result};
pub use store::{
    BootId, Change, Claim, ClaimRequest, Clock, Due, Enqueued, Filter, Job, JobId, JobLease,
    JobState, LeaseTime, ManualClock, Mode, NewJob, OutcomeStatus, Priority, QueueName, Renewal,
    RetryPolicy, Schedule, ScheduleName, Store, SystemClock, Target, Timestamp, Token,
};
