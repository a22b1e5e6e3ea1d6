//! What Redis and the network say, in the words of the contract: one table for every error code.
//!
//! Nothing else in this crate looks at the text of an error.

use std::fmt;
use std::io;
use std::sync::Arc;

use redis::{RedisError, ServerError, Value};
use windlass_core::{Error, ErrorKind};

mod table;

pub(crate) use table::Course;

/// How far a call had come when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing had been sent.
    Connecting,
    /// It had been sent, or may have been.
    Sent,
}

/// Where a node of a Cluster says that a slot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// For this call only: the slot is being moved, and the other node has to be told so.
    pub(crate) is_ask: bool,
    /// The slot.
    pub(crate) slot: u16,
    /// The node; an empty host is the one that said so.
    pub(crate) host: String,
    /// Its port.
    pub(crate) port: u16,
}

/// Why a call to a server failed, and what to do about it.
#[derive(Debug)]
pub(crate) struct Fault {
    /// What to do.
    pub(crate) course: Course,
    /// Where to go instead.
    pub(crate) redirect: Option<Redirect>,
    /// Nobody listens there.
    pub(crate) is_refused: bool,
    /// The server does not know the script.
    pub(crate) is_no_script: bool,
    error: Error,
}

impl Fault {
    /// An error that a server answered with.
    pub(crate) fn answered(server: &dyn fmt::Display, error: &ServerError) -> Self {
        Self::coded(server, error.code(), error.details().unwrap_or_default())
    }

    /// The server's answer, or the error it is.
    pub(crate) fn in_value(server: &dyn fmt::Display, value: Value) -> Result<Value, Self> {
        match value {
            Value::ServerError(error) => Err(Self::answered(server, &error)),
            value => Ok(value),
        }
    }

    /// What the client made of it.
    pub(crate) fn met(server: &dyn fmt::Display, error: &RedisError, phase: Phase) -> Self {
        if let Some(code) = error.code() {
            return Self::coded(server, code, error.detail().unwrap_or_default());
        }
        match error.kind() {
            redis::ErrorKind::RESP3NotSupported => {
                return Self::coded(server, "NOPROTO", "the server does not know HELLO");
            }
            redis::ErrorKind::AuthenticationFailed => {
                return Self::coded(server, "WRONGPASS", "");
            }
            redis::ErrorKind::InvalidClientConfig if phase == Phase::Connecting => {
                return Self::fatal(
                    ErrorKind::Invalid,
                    format!("no connection to Redis at {server} can be set up: {error}"),
                    "check the host and the certificates in the store URL",
                );
            }
            _ => {}
        }
        match phase {
            Phase::Connecting => Self::unreachable(server, error),
            Phase::Sent => Self::unanswered(server, format!("the connection was lost: {error}")),
        }
    }

    /// No connection came about: nothing was done.
    pub(crate) fn unreachable(server: &dyn fmt::Display, error: &RedisError) -> Self {
        let io = std::error::Error::source(error).and_then(io_of);
        let kind = io.map_or(io::ErrorKind::Other, io::Error::kind);
        let is_refused = error.is_connection_refusal();
        let (course, help) = match kind {
            io::ErrorKind::InvalidData => (
                Course::Fatal,
                "check that this port speaks TLS, that its certificate is for this host and that \
                 its authority is trusted (?ca=FILE)",
            ),
            io::ErrorKind::PermissionDenied => (
                Course::Fatal,
                "let this user read and write the socket, or use another",
            ),
            _ if is_refused => (
                Course::BackOff,
                "start the server, or correct the store URL",
            ),
            _ => (
                Course::BackOff,
                "check that the server runs and that it can be reached from here",
            ),
        };
        let what = if is_refused {
            format!("Redis at {server} cannot be reached: nobody listens there")
        } else {
            format!("Redis at {server} cannot be reached: {error}")
        };
        Self {
            is_refused,
            ..Self::new(course, Error::new(ErrorKind::StoreUnreachable, what, help))
        }
    }

    /// Time ran out before a connection was there: nothing was done.
    pub(crate) fn no_connection(server: &dyn fmt::Display) -> Self {
        Self::new(
            Course::BackOff,
            Error::new(
                ErrorKind::StoreUnreachable,
                format!("Redis at {server} cannot be reached: no connection came about in time"),
                "check that the server runs and that it can be reached from here",
            ),
        )
    }

    /// The connection was known to be lost: nothing was sent, so nothing was done.
    pub(crate) fn unsent(server: &dyn fmt::Display) -> Self {
        Self::new(
            Course::BackOff,
            Error::new(
                ErrorKind::StoreUnreachable,
                format!("the connection to Redis at {server} was lost before the call was sent"),
                "check that the server runs and that it can be reached from here",
            ),
        )
    }

    /// No server of the store is known at the moment: nothing was done.
    pub(crate) fn nowhere(why: impl fmt::Display) -> Self {
        Self::new(
            Course::Rediscover,
            Error::new(
                ErrorKind::StoreUnreachable,
                format!("the store has no server to turn to: {why}"),
                "check that its servers run and can be reached from here",
            ),
        )
    }

    /// It was sent and no answer came.
    pub(crate) fn unanswered(server: &dyn fmt::Display, why: impl fmt::Display) -> Self {
        Self::new(
            Course::Unknown,
            Error::new(
                ErrorKind::OutcomeUnknown,
                format!(
                    "Redis at {server} gave no answer: {why}; the call may have been carried out"
                ),
                "repeat the call with the same id or token: the first answer comes back",
            ),
        )
    }

    /// An answer that no server should give.
    pub(crate) fn odd(server: &dyn fmt::Display, what: &str) -> Self {
        Self::fatal(
            ErrorKind::StoreUnsupported,
            format!("Redis at {server} gave an answer that Windlass does not understand: {what}"),
            "use Redis 7.0 or later, or Valkey, without a proxy between that changes answers",
        )
    }

    /// Something that repeating does not mend.
    pub(crate) fn fatal(kind: ErrorKind, what: String, help: &'static str) -> Self {
        Self::new(Course::Fatal, Error::new(kind, what, help))
    }

    /// The same fault for another caller.
    pub(crate) fn again(&self) -> Self {
        Self {
            course: self.course,
            redirect: self.redirect.clone(),
            is_refused: self.is_refused,
            is_no_script: self.is_no_script,
            error: copy(&self.error),
        }
    }

    /// The fault as a caller of the store is told.
    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// The same for a call of which an earlier try got no answer: that nothing was done may no
    /// longer be said.
    pub(crate) fn into_error_after_unknown(self) -> Error {
        match self.error.kind() {
            ErrorKind::StoreBusy | ErrorKind::StoreUnreachable | ErrorKind::StoreFull => {
                Error::new(
                    ErrorKind::OutcomeUnknown,
                    format!(
                        "a call got no answer and could not be repeated: {}",
                        self.error
                    ),
                    "repeat the call with the same id or token: the first answer comes back",
                )
            }
            _ => self.error,
        }
    }

    fn new(course: Course, error: Error) -> Self {
        Self {
            course,
            redirect: None,
            is_refused: false,
            is_no_script: false,
            error,
        }
    }

    fn coded(server: &dyn fmt::Display, code: &str, detail: &str) -> Self {
        let row = table::find(code, detail);
        let said: String = detail
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect();
        let what = if row.hides_detail {
            format!("Redis at {server} {} ({code})", row.what)
        } else {
            format!(
                "Redis at {server} {} ({code} {})",
                row.what,
                said.trim_end()
            )
        };
        Self {
            redirect: matches!(code, "MOVED" | "ASK")
                .then(|| redirect(code, detail))
                .flatten(),
            is_no_script: code == "NOSCRIPT",
            ..Self::new(row.course, Error::new(row.kind, what, row.help))
        }
    }
}

/// The same error for another caller.
pub(crate) fn copy(error: &Error) -> Error {
    Error::new(error.kind(), error.to_string(), error.help().to_owned())
}

/// Reads `SLOT HOST:PORT`.
fn redirect(code: &str, detail: &str) -> Option<Redirect> {
    let mut words = detail.split_ascii_whitespace();
    let slot = words.next()?.parse().ok()?;
    let (host, port) = words.next()?.rsplit_once(':')?;
    Some(Redirect {
        is_ask: code == "ASK",
        slot,
        host: host.trim_matches(['[', ']', '?']).to_owned(),
        port: port.parse().ok()?,
    })
}

/// The client keeps the cause behind a shared pointer, which is an error of its own kind.
fn io_of<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    let shared = error.downcast_ref::<Arc<dyn std::error::Error + Send + Sync>>();
    shared.map_or_else(
        || error.downcast_ref(),
        |inner| inner.downcast_ref::<io::Error>(),
    )
}

#[cfg(test)]
mod tests;
