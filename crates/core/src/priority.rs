//! How urgent a job is: 0 goes first, 9 goes last.

use std::fmt;

use crate::error::Error;

/// A priority from 0 (first) to 9 (last); 5 unless said otherwise.
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
    /// How many priorities there are.
    pub const COUNT: usize = 10;

    /// Checks that `level` is one of 0 to 9.
    pub fn new(level: u8) -> Result<Self, Error> {
        if usize::from(level) < Self::COUNT {
            Ok(Self(level))
        } else {
            Err(Error::invalid(
                "priority",
                format!("{level} is too large; maximum 9"),
                "use 0 (first) to 9 (last)",
            ))
        }
    }

    /// The priority as a number.
    pub const fn level(self) -> u8 {
        self.0
    }

    /// The priority as an index into a table of ten.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// All priorities, first to last.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=9).map(Self)
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
