//! Errors: a stable code, a message and help.
//!
//! Expected outcomes, such as a lost lease or a duplicate, are return values, not errors.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The result type of every fallible function in Windlass.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The category of an [`Error`]. Match on this, not on the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is invalid. Repeating it unchanged fails again.
    Invalid,
    /// The named queue, job or worker does not exist.
    NotFound,
    /// The current state of the job does not allow this.
    Conflict,
    /// The store is full. Completing jobs frees space.
    StoreFull,
    /// Another process holds the store. Nothing was done.
    StoreBusy,
    /// The store could not be reached. Nothing was done.
    StoreUnreachable,
    /// This process may not write to the store.
    StoreReadOnly,
    /// The file or server at this address is not a Windlass store.
    StoreForeign,
    /// The stored data is corrupt.
    StoreDamaged,
    /// The store was written by a newer version of Windlass.
    StoreNewer,
    /// The store was written by an older version of Windlass and must be migrated first.
    StoreOlder,
    /// The file system or server version cannot guarantee safety.
    StoreUnsupported,
    /// The request was sent but no reply arrived: it may or may not have been executed. Repeat it
    /// with the same id or token to get the first reply.
    OutcomeUnknown,
    /// The server of the store does not accept the token, or the token does not allow this.
    Forbidden,
    /// A bug in Windlass.
    Internal,
}

impl ErrorKind {
    /// Returns the stable code, which scripts and other languages match on.
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
            Self::StoreOlder => "store_older",
            Self::StoreUnsupported => "store_unsupported",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Forbidden => "forbidden",
            Self::Internal => "internal",
        }
    }

    /// Returns whether the same request may succeed later.
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::StoreFull | Self::StoreBusy | Self::StoreUnreachable | Self::OutcomeUnknown
        )
    }
}

/// An error with a kind, a message (what failed and why) and help (what to do next).
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::{ErrorKind, QueueName};
///
/// let error = QueueName::new("a b").unwrap_err();
/// assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, "invalid")); // match on these
/// assert_eq!(error.to_string(), "invalid queue name: ' ' is not allowed"); // show this
/// assert_eq!(error.help(), "use letters, digits, dot, underscore, colon and hyphen");
/// assert!(!error.is_transient()); // do not retry
/// ```
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    help: Cow<'static, str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    is_lasting: bool,
}

impl Error {
    /// Creates an error: what failed and why, then what to do next.
    pub fn new(
        kind: ErrorKind,
        message: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            kind,
            message: message.into(),
            help: help.into(),
            source: None,
            is_lasting: false,
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

    /// Sets the cause, returned by [`source`](StdError::source).
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Replaces the help.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.help = help.into();
        self
    }

    /// Marks an error that only a change can fix, such as a wrong password, although its kind is transient.
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.is_lasting = true;
        self
    }

    /// Returns the kind.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the stable code of the kind.
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Returns what to do next.
    pub fn help(&self) -> &str {
        &self.help
    }

    /// Returns whether the same request may succeed later.
    pub const fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }

    /// Returns whether the same request may succeed later without a change, for example when a server
    /// has started. Programs that run for long retry at the start only then.
    pub const fn may_pass(&self) -> bool {
        self.is_transient() && !self.is_lasting
    }

    /// Returns whether the request may have been executed although no reply arrived.
    pub fn is_unknown(&self) -> bool {
        self.kind == ErrorKind::OutcomeUnknown
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
