//! Stopping: single attempts (timeout, cancellation) and the whole worker.

pub(crate) mod burst;
pub(crate) mod cancellations;
pub(crate) mod deadlines;
pub(crate) mod drain;
pub(crate) mod phase;
pub(crate) mod reason;
