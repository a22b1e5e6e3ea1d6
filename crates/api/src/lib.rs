//! Requests, replies and error codes shared by all interfaces: HTTP API, stdio and CLI.
//!
//! Each request makes one call to the store, which makes every decision.
//!
//! ```
//! use windlass_api::EnqueueRequest;
//!
//! let request = EnqueueRequest::from_json(r#"{"payload":{"to":"joe"},"priority":2}"#)?;
//! let job = request.into_job()?;
//! assert_eq!(job.payload.as_ref(), br#"{"to":"joe"}"#);
//! assert_eq!(job.headers.get("content-type"), Some("application/json"));
//! # Ok::<(), windlass_core::Error>(())
//! ```
//!
//! # Map
//!
//! [`timestamp`] and [`content`] convert times and bytes to and from JSON; [`depth`] limits nesting, and
//! [`fields`] parses one object. [`request`] has a type for each op; [`Request`] is any of them, and
//! [`dispatch`](mod@dispatch) has the table of ops and executes it; [`route`] is how an op is called over HTTP. [`undelivered`] returns jobs whose reply was not delivered; [`lines`] reads and writes lines. [`enqueue`] is the JSON form of a new job, [`import`] a line of an import. [`job`], [`claim`], [`change`], [`queue`], [`history`], [`schedule`],
//! [`worker`], [`why`] and [`maintenance`] are replies. [`retry`] is the JSON form of retry delays, and [`word`] keeps the fixed words of replies. Replies convert back to the values of core, for a client of a remote store. [`trace`] carries a trace from a request to a job. [`error`] is the JSON form of errors, and [`code`] the table of
//! their codes. [`wait_for_end`] waits for outcomes. [`health`] checks a store.

pub mod change;
pub mod claim;
pub mod code;
pub mod content;
pub mod depth;
pub mod dispatch;
pub mod enqueue;
pub mod error;
pub mod error_group;
pub mod fields;
mod filter;
pub mod group;
pub mod health;
pub mod history;
pub mod import;
pub mod job;
pub mod lines;
pub mod maintenance;
pub mod queue;
pub mod request;
pub mod retry;
pub mod route;
pub mod schedule;
pub mod timestamp;
pub mod trace;
pub mod undelivered;
pub mod why;
pub mod word;
pub mod worker;

pub use change::{ChangeCounts, ChangeReply};
pub use claim::{ClaimReply, OutcomeReply, RenewReply};
pub use code::Code;
pub use dispatch::{Reply, Request, dispatch, dispatch_until};
pub use enqueue::{EnqueueReply, EnqueueRequest};
pub use error::{Error, ErrorReply};
pub use error_group::{AttemptReply, ErrorGroupReply};
pub use fields::Fields;
pub use group::GroupReply;
pub use history::HistoryRowReply;
pub use import::{ExportedSchedule, ImportLine, ImportedSchedule};
pub use job::JobReply;
pub use maintenance::{MaintenanceReply, RepairReply};
pub use queue::{QueueReply, SettingsReply};
pub use route::{Method, Route, Scope};
pub use schedule::{PutSchedule, ScheduleReply};
pub use trace::{TraceHeaders, TraceParent};
pub use undelivered::{Undelivered, until_known};
pub use why::{DetailReply, HolderReply, ReasonReply, WhyReply};
pub use windlass_core::wait::{JobEnd, wait_for_end};
pub use worker::WorkerReply;
