//! Why a running job is asked to stop.

/// Why a handler should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum StopReason {
    /// Somebody cancelled the job: its failure or release makes it cancelled.
    Cancelled = 1,
    /// The attempt has taken as long as it may.
    TimedOut = 2,
    /// The worker is going away; the job goes back, attempt not counted.
    Leaving = 3,
    /// The lease is lost or about to end: somebody else may have the job, and nothing this attempt
    /// says will be written any more.
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

    /// The reason as a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Leaving => "leaving",
            Self::LeaseLost => "lease_lost",
        }
    }
}
