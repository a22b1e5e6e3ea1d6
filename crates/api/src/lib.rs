//! Requests and replies every door shares, and their words for errors.
//!
//! Doors translate and the store decides: nothing here reads, thinks and then writes.
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
//! [`timestamp`] and [`content`] say how times and bytes look in JSON, [`depth`] how deep it may be nested; [`fields`] reads one object,
//! [`request`] has a type for each verb and [`dispatch`](mod@dispatch) carries any of them out;
//! [`enqueue`] is the one request with a body of its own. [`job`], [`claim`], [`change`], [`queue`],
//! [`worker`] and [`maintenance`] are replies; [`error`] is how every refusal looks and [`code`] the table
//! of their codes; [`wait_for_end`] waits for outcomes.

pub mod change;
pub mod claim;
pub mod code;
pub mod content;
pub mod depth;
pub mod dispatch;
pub mod enqueue;
pub mod error;
pub mod fields;
pub mod job;
pub mod maintenance;
pub mod queue;
pub mod request;
pub mod timestamp;
pub mod worker;

pub use change::{ChangeCounts, ChangeReply, Verb};
pub use claim::{ClaimReply, RenewReply, SettleReply};
pub use code::{CODES, Code};
pub use dispatch::{dispatch, ops};
pub use enqueue::{EnqueueReply, EnqueueRequest};
pub use error::{Error, ErrorReply};
pub use fields::Fields;
pub use job::JobReply;
pub use maintenance::{MaintenanceReply, RepairReply};
pub use queue::{QueueReply, SettingsReply};
pub use windlass_core::wait::{JobEnd, wait_for_end};
pub use worker::WorkerReply;
