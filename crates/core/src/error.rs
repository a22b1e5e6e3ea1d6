//! What a store or a door answers when it cannot do what was asked.
//!
//! Expected outcomes (a lost lease, a duplicate) are values, never errors. An error says what
//! happened, why, and what to do next, and carries a code that never changes.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// The answer of everything in Windlass that may fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What sort of failure it is: callers act on this, never on the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself is wrong; repeating it unchanged fails again.
    Invalid,
    /// The thing named does not exist.
    NotFound,
    /// The thing named is in a state that forbids this.
    Conflict,
    /// The store has no room left; completing jobs frees some.
    StoreFull,
    /// The store is held by somebody else for now; nothing was done.
    StoreBusy,
    /// The store could not be reached; nothing was done.
    StoreUnreachable,
    /// The store may not be written by this process.
    StoreReadOnly,
    /// What is at this address is not a Windlass store.
    StoreForeign,
    /// The store's data is damaged.
    StoreDamaged,
    /// The store was written by a newer Windlass than this one.
    StoreNewer,
    /// This store does not run here: its place or its engine is not safe.
    StoreUnsupported,
    /// The request was sent and no answer came: it may or may not have happened. Repeat it with
    /// the same id or token; the first answer comes back.
    OutcomeUnknown,
    /// A fault inside Windlass itself.
    Internal,
}

impl ErrorKind {
    /// The stable code that scripts and other languages match on.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::StoreFull => "store_full",
            Self::StoreBusy => "store_busy",
            Self::StoreUnreachable => "store_unreachable",
            Self::StoreReadOnly => "store_read_only",
            Self::StoreForeign => "store_foreign",
            Self::StoreDamaged => "store_damaged",
            Self::StoreNewer => "store_newer",
            Self::StoreUnsupported => "store_unsupported",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Internal => "internal",
        }
    }

    /// Whether the same request may succeed later.
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::StoreFull | Self::StoreBusy | Self::StoreUnreachable | Self::OutcomeUnknown
        )
    }
}

/// What happened, why, and what to do next.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::{ErrorKind, QueueName};
///
/// let error = QueueName::new("a b").unwrap_err();
/// assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, "invalid")); // for programs
/// assert_eq!(error.to_string(), "invalid queue name: ' ' is not allowed"); // for people
/// assert_eq!(error.help(), "use letters, digits, dot, underscore, colon and hyphen");
/// assert!(!error.is_transient()); // repeating it would not help
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    what: Cow<'static, str>,
    help: Cow<'static, str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of a kind: what happened and why in one sentence, then what to do next.
    pub fn new(
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            kind,
            what: what.into(),
            help: help.into(),
            source: None,
        }
    }

    /// Creates an [`ErrorKind::Invalid`] error: `invalid {part}: {why}`.
    pub fn invalid(part: &str, why: impl fmt::Display, help: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, format!("invalid {part}: {why}"), help)
    }

    /// Creates an [`ErrorKind::Invalid`] error for a value that is not one of `expected`.
    ///
    /// ```
    /// # use windlass_core as windlass;
    /// use windlass::Error;
    ///
    /// let error = Error::unknown("state", "sleeping", &["ready", "dead"]);
    /// assert_eq!(error.to_string(), "unknown state \"sleeping\"");
    /// assert_eq!(error.help(), "expected one of: ready, dead");
    /// ```
    pub fn unknown(part: &str, value: &str, expected: &[&str]) -> Self {
        let value: String = value.chars().take(40).collect();
        Self::new(
            ErrorKind::Invalid,
            format!("unknown {part} {value:?}"),
            format!("expected one of: {}", expected.join(", ")),
        )
    }

    /// Keeps the cause beneath this error.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// What sort of failure it is.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable code.
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// What to do next.
    pub fn help(&self) -> &str {
        &self.help
    }

    /// Whether the same request may succeed later.
    pub const fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }

    /// Whether the request may have happened although no answer came.
    pub fn is_unknown(&self) -> bool {
        self.kind == ErrorKind::OutcomeUnknown
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
