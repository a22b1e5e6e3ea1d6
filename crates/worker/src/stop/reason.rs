//! Why an attempt is asked to stop.

/// Why an attempt should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum StopReason {
    /// The job was cancelled: if the attempt fails or is released, the job becomes cancelled.
    Cancelled = 1,
    /// The attempt timed out.
    TimedOut = 2,
    /// The worker is stopping. The job returns to its queue; the attempt does not count.
    Leaving = 3,
    /// The lease is lost or about to expire: another worker may have the job, and the outcome of
    /// this attempt will not be stored.
    LeaseLost = 4,
}

impl StopReason {
    pub(crate) const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Cancelled),
            2 => Some(Self::TimedOut),
            3 => Some(Self::Leaving),
            4 => Some(Self::LeaseLost),
            _ => None,
        }
    }

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
