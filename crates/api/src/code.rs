//! The table of error codes, with exit statuses and HTTP statuses. `docs/errors.md` is generated from it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use windlass_core::ErrorKind;

/// Defines [`Code`] from the table: the name, the exit status of the CLI and the HTTP status (if the
/// interface uses the code), what the code means, and what to do.
macro_rules! codes {
    ($($code:ident = $name:literal, ($exit:expr, $status:expr), $meaning:literal, $action:literal;)*) => {
        /// An error code. Codes are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        impl Code {
            /// All codes, by subject: requests, jobs, stores, interfaces.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            /// Returns the code as text, such as `not_found`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            /// Returns the exit status of the CLI, if the CLI uses the code.
            pub const fn exit(self) -> Option<u8> {
                match self { $(Self::$code => $exit),* }
            }

            /// Returns the HTTP status, if the HTTP API uses the code.
            pub const fn status(self) -> Option<u16> {
                match self { $(Self::$code => $status),* }
            }

            /// Returns what the code means.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$code => $meaning),* }
            }

            /// Returns what to do.
            pub const fn action(self) -> &'static str {
                match self { $(Self::$code => $action),* }
            }
        }
    };
}

codes! {
    Invalid = "invalid", (Some(2), Some(400)),
        "The request is invalid. Nothing was done.",
        "Correct the part named in the message. Repeating the request unchanged fails again.";
    Usage = "usage", (Some(2), None),
        "The command line is invalid. Nothing was done.",
        "See `windlass help COMMAND`.";
    BadConfig = "bad_config", (Some(78), None),
        "An environment variable or the configuration file is invalid.",
        "Run `windlass config show` to see each setting and where it comes from.";
    TooLarge = "too_large", (None, Some(413)),
        "A request body, its headers or a line of an import is too large. (A payload or result that is too large is `invalid`.)",
        "Send less, or store the data elsewhere and send a reference to it.";
    NotFound = "not_found", (Some(3), Some(404)),
        "The queue, job, worker or route does not exist.",
        "Run `windlass queue list`, `windlass job list QUEUE` or `windlass workers`.";
    Gone = "gone", (Some(3), Some(410)),
        "The job is no longer stored: it finished and was not kept, or was removed.",
        "To keep outcomes, enqueue with `--wait`, or set `keep_succeeded=all` for the queue.";
    Conflict = "conflict", (Some(4), Some(409)),
        "The request conflicts with other jobs: one has the same unique key, or the queue to delete has jobs.",
        "Wait for the jobs named in the message, or choose another key.";
    WrongState = "wrong_state", (Some(4), Some(409)),
        "The state of the job does not allow this.",
        "Run `windlass job get QUEUE ID`. The help names the states that allow it.";
    LeaseLost = "lease_lost", (Some(4), Some(409)),
        "The token is no longer valid for the job. Nothing changed.",
        "Discard the outcome: another worker may be running the job.";
    Cancelled = "cancelled", (None, None),
        "Dispatcher: the job was deleted while it was being sent to a worker.",
        "Send `worker_idle` to get another job.";
    Duplicate = "duplicate", (None, None),
        "Dispatcher: a job with this id already exists.",
        "Nothing. Use another id to add another job.";
    TimedOut = "timed_out", (Some(124), Some(408)),
        "The wait timed out. The job continues.",
        "Wait longer, or run `windlass workers` to check that a worker is running.";
    StoreFull = "store_full", (Some(75), Some(503)),
        "The store is full. Nothing was done.",
        "Let workers finish jobs or delete jobs, which frees space, or give the store more disk or memory. On SQLite, `windlass store compact` gives freed space back to the disk.";
    StoreBusy = "store_busy", (Some(75), Some(503)),
        "Another process is using the store. Nothing was done.",
        "Try again. If it persists, `windlass doctor` shows which process it is.";
    StoreUnreachable = "store_unreachable", (Some(69), Some(503)),
        "The store could not be reached. Nothing was done.",
        "Check the address and that the server is running: `windlass doctor`.";
    StoreReadOnly = "store_read_only", (Some(5), Some(500)),
        "This process may not write to the store.",
        "Check the permissions of the file, or connect to the primary instead of a replica.";
    StoreForeign = "store_foreign", (Some(78), Some(500)),
        "The file or server at this address is not a Windlass store, or a file of the store belongs to another user.",
        "Use another file or key prefix. Keep a store in a folder that only its user can write.";
    StoreDamaged = "store_damaged", (Some(69), Some(500)),
        "The stored data is corrupt.",
        "Run `windlass audit` to repair it; otherwise restore a backup.";
    StoreNewer = "store_newer", (Some(78), Some(500)),
        "The store was written by a newer version of Windlass.",
        "Use that version or a later one.";
    StoreOlder = "store_older", (Some(78), Some(500)),
        "The store, or a queue of it, was written by an older version of Windlass.",
        "Stop the programs of that version, then run `windlass store migrate`.";
    StoreUnsupported = "store_unsupported", (Some(78), Some(500)),
        "The file system or the server version is not supported.",
        "The message names the requirement, such as a local disk or a newer server.";
    OutcomeUnknown = "outcome_unknown", (Some(75), Some(503)),
        "The request was sent but no reply arrived, or too few replicas confirmed it. It may or may not have been executed.",
        "Repeat it with the same id or token. It is executed once, and the first reply is returned. A claim has neither: claim again; the jobs of the first claim return when their lease expires.";
    Unwritable = "unwritable", (Some(1), None),
        "The command was executed, but its output could not be written.",
        "Free disk space, or redirect stdout. The message says what happened to the jobs.";
    Unauthorized = "unauthorized", (None, Some(401)),
        "The request has no token, or the server does not know it.",
        "Send `Authorization: Bearer TOKEN` with a valid token.";
    Forbidden = "forbidden", (Some(5), Some(403)),
        "The token, the origin or the method of authentication does not allow this request.",
        "Use a token with the scope named in the message.";
    WrongHost = "wrong_host", (None, Some(421)),
        "The server does not accept this host name.",
        "Use its address, or start it with `windlass serve --host NAME`.";
    MethodNotAllowed = "method_not_allowed", (None, Some(405)),
        "The route exists, but not with this method.",
        "`/docs` lists the methods of each route.";
    WrongMediaType = "wrong_media_type", (None, Some(415)),
        "The route does not accept this content type.",
        "Send the `Content-Type` named in the message.";
    UrlTooLong = "url_too_long", (None, Some(414)),
        "The URL is too long.",
        "Send long values in the body.";
    TooSlow = "too_slow", (None, Some(408)),
        "The request body did not arrive in time.",
        "Send it again. On a slow connection, send smaller requests.";
    TooManyRequests = "too_many_requests", (None, Some(429)),
        "A limit of the token is exceeded (requests, streams or memory), or too many invalid tokens came from this address.",
        "Retry after the number of seconds in `Retry-After`.";
    Overloaded = "overloaded", (None, Some(503)),
        "The server is at its limit of concurrent requests.",
        "Retry after the number of seconds in `Retry-After`.";
    NotReady = "not_ready", (None, Some(503)),
        "The server is running, but its store does not respond.",
        "Check `/readyz` and `windlass doctor`.";
    Internal = "internal", (Some(1), Some(500)),
        "A bug in Windlass.",
        "Please report it, with the request and the message.";
}

impl Code {
    /// Returns the code with this name.
    pub fn from_text(name: &str) -> Option<Self> {
        let mut codes = Self::ALL.iter().copied();
        codes.find(|code| code.as_str() == name)
    }
}

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        Self::from_text(kind.code()).unwrap_or(Self::Internal)
    }
}

impl From<Code> for ErrorKind {
    /// Returns the kind of an error of a server, for its client.
    fn from(code: Code) -> Self {
        match code {
            Code::Invalid | Code::Usage | Code::TooLarge | Code::UrlTooLong => Self::Invalid,
            Code::NotFound | Code::Gone => Self::NotFound,
            Code::Conflict | Code::WrongState | Code::LeaseLost => Self::Conflict,
            Code::StoreFull => Self::StoreFull,
            // The server refused these before it did anything.
            Code::StoreBusy | Code::TooManyRequests | Code::Overloaded | Code::TooSlow => {
                Self::StoreBusy
            }
            Code::StoreUnreachable | Code::NotReady | Code::TimedOut => Self::StoreUnreachable,
            Code::StoreReadOnly => Self::StoreReadOnly,
            Code::Unauthorized | Code::Forbidden => Self::Forbidden,
            Code::StoreForeign | Code::BadConfig | Code::WrongHost => Self::StoreForeign,
            Code::StoreDamaged => Self::StoreDamaged,
            Code::StoreNewer => Self::StoreNewer,
            Code::StoreOlder => Self::StoreOlder,
            // An older server does not know the route.
            Code::StoreUnsupported | Code::MethodNotAllowed | Code::WrongMediaType => {
                Self::StoreUnsupported
            }
            Code::OutcomeUnknown => Self::OutcomeUnknown,
            Code::Cancelled | Code::Duplicate | Code::Unwritable | Code::Internal => Self::Internal,
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl JsonSchema for Code {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Code".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn page() -> String {
        let mut page = String::from(
            "# Error codes\n\nLook up an error code here: what it means, what to do, the exit status of the CLI and the HTTP status. Codes are stable; messages may\n\
             change. The HTTP API returns errors as problem documents. The CLI prints `error: …` and `help: …`, or with `--json` an object\n\
             `{\"error\":{code,message,help}}`.\n\n\
             | Code | Meaning | What to do | Exit | HTTP |\n|---|---|---|---|---|\n",
        );
        for code in Code::ALL {
            let exit = code.exit().map_or("–".to_owned(), |exit| exit.to_string());
            let status = code.status();
            let status = status.map_or("–".to_owned(), |status| status.to_string());
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {exit} | {status} |",
                code.as_str(),
                code.meaning(),
                code.action()
            );
        }
        page += "\nThis page is generated from `crates/api/src/code.rs`: run `WINDLASS_SNAPSHOT=write cargo test -p windlass-api code`.\n";
        page
    }

    #[test]
    fn the_errors_page_matches_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");
        if std::env::var_os("WINDLASS_SNAPSHOT").is_some() {
            std::fs::write(path, page()).expect("the page can be written");
        }
        let written = std::fs::read_to_string(path).expect("the page is there");
        assert!(
            written == page(),
            "docs/errors.md is out of date; regenerate it with WINDLASS_SNAPSHOT=write cargo test -p windlass-api code"
        );
    }

    #[test]
    fn every_kind_of_error_has_a_code_in_the_table() {
        for kind in [
            ErrorKind::Invalid,
            ErrorKind::NotFound,
            ErrorKind::Conflict,
            ErrorKind::StoreFull,
            ErrorKind::StoreBusy,
            ErrorKind::StoreUnreachable,
            ErrorKind::StoreReadOnly,
            ErrorKind::StoreForeign,
            ErrorKind::StoreDamaged,
            ErrorKind::StoreNewer,
            ErrorKind::StoreOlder,
            ErrorKind::StoreUnsupported,
            ErrorKind::OutcomeUnknown,
            ErrorKind::Forbidden,
            ErrorKind::Internal,
        ] {
            assert_eq!(Code::from(kind).as_str(), kind.code());
            assert_eq!(ErrorKind::from(Code::from(kind)), kind);
        }
    }
}
