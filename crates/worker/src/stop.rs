//! Stopping: single attempts (timeout, cancellation) and the whole worker.

pub(crate) mod burst;
pub(crate) mod cancellations;
pub(crate) mod deadlines;
pub(crate) mod drain;
pub(crate) mod phase;

/// Why an attempt should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The job was cancelled: if the attempt fails or is released, the job becomes cancelled.
    Cancelled,
    /// The attempt timed out.
    TimedOut,
    /// The worker is stopping. The job returns to its queue; the attempt does not count.
    Leaving,
    /// The lease is lost or about to expire: another worker may have the job, and the outcome of
    /// this attempt will not be stored.
    LeaseLost,
}

impl StopReason {
    /// Returns the reason's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Leaving => "leaving",
            Self::LeaseLost => "lease_lost",
        }
    }
}
