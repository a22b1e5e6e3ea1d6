//! Priorities: 0 is claimed first, 9 last.

use std::fmt;

use crate::error::Error;

/// A priority from 0 (first) to 9 (last) (default: 5).
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::Priority;
///
/// assert!(Priority::new(0)? < Priority::default());
/// assert!(Priority::new(10).is_err());
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The number of priorities.
    pub const COUNT: usize = 10;

    /// Creates a priority; fails if `level` is greater than 9.
    pub fn new(level: u8) -> Result<Self, Error> {
        Self::try_from(i64::from(level))
    }

    /// Returns the priority as a number.
    pub const fn level(self) -> u8 {
        self.0
    }

    /// Returns the priority as an array index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns all priorities, first to last.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=9).map(Self)
    }
}

impl TryFrom<i64> for Priority {
    type Error = Error;

    fn try_from(level: i64) -> Result<Self, Error> {
        let why = match (u8::try_from(level), level) {
            (Ok(level @ 0..=9), _) => return Ok(Self(level)),
            (_, ..0) => "too small; minimum 0",
            _ => "too large; maximum 9",
        };
        Err(Error::invalid(
            "priority",
            format!("{level} is {why}"),
            "use 0 (first) to 9 (last)",
        ))
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}
