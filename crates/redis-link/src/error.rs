//! Maps errors of Redis and the network to store errors, with one table for all error codes.
//!
//! Nothing else in this crate inspects the text of an error.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::{RedisError, Value};
use windlass_core::{Error, ErrorKind, duration};

mod table;

pub(crate) use table::Recovery;

const CHECK_SERVER: &str = "check that the server runs and is reachable from this machine";
const WITHOUT_TLS: &str = "write redis:// instead of rediss:// if this port has no TLS";
const REPEAT: &str = "the call may have been executed; repeat it with the same id or token: it returns the first result";

/// Whether a failed call had been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendState {
    /// Nothing was sent.
    NotSent,
    /// It was sent, or may have been.
    Sent,
}

/// A MOVED or ASK redirect of a Cluster node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// ASK: for this call only, because the slot is being migrated.
    pub(crate) is_ask: bool,
    pub(crate) slot: u16,
    /// The target host; empty means the host that sent the redirect.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Why a call to a server failed, and what to do about it.
#[derive(Debug, Clone)]
pub(crate) struct CallError {
    pub(crate) recovery: Recovery,
    pub(crate) redirect: Option<Redirect>,
    /// No server is listening.
    pub(crate) is_refused: bool,
    /// The script is not in the server's cache.
    pub(crate) is_no_script: bool,
    error: Error,
}

impl CallError {
    /// Returns the reply, or the error if it is an error reply.
    pub(crate) fn check_reply(server: &dyn fmt::Display, value: Value) -> Result<Value, Self> {
        match value {
            Value::ServerError(error) => {
                let detail = error.details().unwrap_or_default();
                Err(Self::from_code(server, error.code(), detail))
            }
            value => Ok(value),
        }
    }

    /// Builds the error for an error of the client library.
    pub(crate) fn from_client(
        server: &dyn fmt::Display,
        error: &RedisError,
        state: SendState,
    ) -> Self {
        if let Some(code) = error.code() {
            return Self::from_code(server, code, error.detail().unwrap_or_default());
        }
        match error.kind() {
            redis::ErrorKind::RESP3NotSupported => {
                return Self::from_code(server, "NOPROTO", "the server does not support HELLO");
            }
            redis::ErrorKind::AuthenticationFailed => {
                return Self::from_code(server, "WRONGPASS", "");
            }
            redis::ErrorKind::InvalidClientConfig if state == SendState::NotSent => {
                return Self::fatal(
                    ErrorKind::Invalid,
                    format!("cannot set up a connection to Redis at {server}: {error}"),
                    "check the host and the certificates in the store URL",
                );
            }
            redis::ErrorKind::Parse if state == SendState::NotSent => {
                return Self::fatal(
                    ErrorKind::StoreUnreachable,
                    format!("{server} does not answer like a Redis server"),
                    "check the address; for a store behind `windlass serve`, write http://HOST:PORT",
                );
            }
            _ => {}
        }
        match state {
            SendState::NotSent => Self::unreachable(server, error),
            SendState::Sent => Self::no_reply(server, format!("the connection was lost: {error}")),
        }
    }

    /// Connecting failed: nothing was done.
    pub(crate) fn unreachable(server: &dyn fmt::Display, error: &RedisError) -> Self {
        let io = std::error::Error::source(error).and_then(io_of);
        let kind = io.map_or(io::ErrorKind::Other, io::Error::kind);
        let is_refused = error.is_connection_refusal();
        let tls = io.and_then(|error| error.get_ref()?.downcast_ref::<rustls::Error>());
        if matches!(tls, Some(rustls::Error::InvalidMessage(_))) {
            let message = format!("Redis at {server} answers without TLS");
            return Self::fatal(ErrorKind::StoreUnreachable, message, WITHOUT_TLS);
        }
        let (recovery, help) = match kind {
            io::ErrorKind::InvalidData => (
                Recovery::Fatal,
                "check that the certificate matches the host and that its issuer is trusted (?ca=FILE)",
            ),
            io::ErrorKind::PermissionDenied => (
                Recovery::Fatal,
                "give this user read and write access to the socket, or use another one",
            ),
            _ if is_refused => (
                Recovery::BackOff,
                "start the server, or correct the store URL",
            ),
            _ if is_closed(kind) => (
                Recovery::BackOff,
                "write rediss:// instead of redis:// if this port uses TLS; otherwise see the log of the server",
            ),
            _ => (Recovery::BackOff, CHECK_SERVER),
        };
        let message = if is_refused {
            format!("cannot connect to Redis at {server}: no server is listening")
        } else if is_closed(kind) {
            format!("Redis at {server} closed the connection before it answered")
        } else {
            format!("cannot connect to Redis at {server}: {error}")
        };
        Self {
            is_refused,
            ..Self::new(recovery, ErrorKind::StoreUnreachable, message, help)
        }
    }

    /// The server accepted the connection and did not answer the TLS handshake: nothing was done.
    pub(crate) fn silent_handshake(server: &dyn fmt::Display) -> Self {
        Self::new(
            Recovery::BackOff,
            ErrorKind::StoreUnreachable,
            format!("Redis at {server} does not answer the TLS handshake"),
            WITHOUT_TLS,
        )
    }

    /// Connecting took too long: nothing was done.
    pub(crate) fn connect_timeout(server: &dyn fmt::Display, after: Duration) -> Self {
        // Rounded, because a deadline is always a little closer than its timeout.
        let hundredths = (after.as_millis() + 5) / 10;
        let after = duration::format(Duration::from_millis(
            u64::try_from(hundredths)
                .unwrap_or(u64::MAX)
                .saturating_mul(10),
        ));
        Self::new(
            Recovery::BackOff,
            ErrorKind::StoreUnreachable,
            format!("timed out while connecting to Redis at {server} ({after})"),
            CHECK_SERVER,
        )
    }

    /// The connection was closed before the call was sent: nothing was done.
    pub(crate) fn not_sent(server: &dyn fmt::Display) -> Self {
        Self::new(
            Recovery::BackOff,
            ErrorKind::StoreUnreachable,
            format!("the connection to Redis at {server} was lost before the call was sent"),
            CHECK_SERVER,
        )
    }

    /// The call could not be sent before its deadline: nothing was done.
    pub(crate) fn not_sent_in_time(server: &dyn fmt::Display) -> Self {
        Self::new(
            Recovery::BackOff,
            ErrorKind::StoreUnreachable,
            format!("the call to Redis at {server} timed out before it was sent"),
            CHECK_SERVER,
        )
    }

    /// No primary is known at the moment: nothing was done.
    pub(crate) fn no_server(why: impl fmt::Display) -> Self {
        Self::new(
            Recovery::Rediscover,
            ErrorKind::StoreUnreachable,
            format!("no Redis server is available: {why}"),
            "check that the servers run and are reachable from this machine",
        )
    }

    /// The call was sent and no reply arrived.
    pub(crate) fn no_reply(server: &dyn fmt::Display, why: impl fmt::Display) -> Self {
        Self::new(
            Recovery::Unknown,
            ErrorKind::OutcomeUnknown,
            format!("no reply from Redis at {server}: {why}"),
            REPEAT,
        )
    }

    /// The server sent a reply that Windlass does not expect.
    pub(crate) fn unexpected_reply(server: &dyn fmt::Display, why: &str) -> Self {
        Self::fatal(
            ErrorKind::StoreUnsupported,
            format!("unexpected reply from Redis at {server}: {why}"),
            "use Redis 7.0 or later, or Valkey, without a proxy that changes replies",
        )
    }

    /// An error that retrying does not fix.
    pub(crate) fn fatal(kind: ErrorKind, message: String, help: &'static str) -> Self {
        Self::new(Recovery::Fatal, kind, message, help)
    }

    /// Returns the error for the caller of the store.
    pub(crate) fn into_error(self) -> Error {
        match self.recovery {
            Recovery::Fatal => self.error.lasting(),
            _ => self.error,
        }
    }

    /// Like [`CallError::into_error`], for a call of which an earlier attempt got no reply: it may have
    /// been executed after all.
    pub(crate) fn into_error_after_unknown(self) -> Error {
        match self.error.kind() {
            ErrorKind::StoreBusy | ErrorKind::StoreUnreachable | ErrorKind::StoreFull => {
                Error::new(
                    ErrorKind::OutcomeUnknown,
                    format!("no reply to a call, and the retry failed: {}", self.error),
                    REPEAT,
                )
            }
            _ => self.error,
        }
    }

    fn new(recovery: Recovery, kind: ErrorKind, message: String, help: &'static str) -> Self {
        Self {
            recovery,
            redirect: None,
            is_refused: false,
            is_no_script: false,
            error: Error::new(kind, message, help),
        }
    }

    fn from_code(server: &dyn fmt::Display, code: &str, detail: &str) -> Self {
        let row = table::find(code, detail);
        let message = if row.hides_detail {
            format!("Redis at {server} {} ({code})", row.message)
        } else {
            let line = detail.lines().next().unwrap_or_default();
            let line: String = line.chars().take(200).collect();
            format!(
                "Redis at {server} {} ({code} {})",
                row.message,
                line.trim_end()
            )
        };
        Self {
            redirect: matches!(code, "MOVED" | "ASK")
                .then(|| redirect(code, detail))
                .flatten(),
            is_no_script: code == "NOSCRIPT",
            ..Self::new(row.recovery, row.kind, message, row.help)
        }
    }
}

/// The error of a call that was executed and that fewer replicas confirmed than the URL requests.
pub(crate) fn unconfirmed(confirmed: u32, requested: u32) -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        format!(
            "{confirmed} of {requested} replicas confirmed the call in time: it was executed, but a failover may \
            undo it"
        ),
        "repeat the call with the same id or token; `windlass doctor` shows how many replicas are connected",
    )
}

/// Parses `SLOT HOST:PORT`.
fn redirect(code: &str, detail: &str) -> Option<Redirect> {
    let mut fields = detail.split_ascii_whitespace();
    let slot = fields.next()?.parse().ok()?;
    let (host, port) = fields.next()?.rsplit_once(':')?;
    Some(Redirect {
        is_ask: code == "ASK",
        slot,
        host: host.trim_matches(['[', ']', '?']).to_owned(),
        port: port.parse().ok()?,
    })
}

/// Whether the other side closed the connection.
fn is_closed(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
    )
}

/// Returns the I/O error behind an error. The client wraps the cause in an `Arc`.
fn io_of<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    let shared = error.downcast_ref::<Arc<dyn std::error::Error + Send + Sync>>();
    shared.map_or_else(
        || error.downcast_ref(),
        |inner| inner.downcast_ref::<io::Error>(),
    )
}

#[cfg(test)]
mod tests;
