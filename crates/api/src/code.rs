//! Every code that a refusal may carry: what it means, what to do next, and how each door says it.
//!
//! `docs/errors.md` is written from this table, and the doors read their exit and status from it.

/// One code. It never changes once it was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// What programs match on.
    pub word: &'static str,
    /// What happened.
    pub means: &'static str,
    /// What to do about it.
    pub next: &'static str,
    /// How the command line ends, where it says so.
    pub exit: Option<u8>,
    /// How HTTP answers, where it says so.
    pub status: Option<u16>,
}

const fn code(
    word: &'static str,
    (exit, status): (Option<u8>, Option<u16>),
    means: &'static str,
    next: &'static str,
) -> Code {
    Code {
        word,
        means,
        next,
        exit,
        status,
    }
}

/// All codes, by subject: the request, the job, the store, the doors.
pub const CODES: &[Code] = &[
    code(
        "invalid",
        (Some(2), Some(400)),
        "A part of the request is invalid; nothing was done.",
        "Correct the part that the message names. The same request fails again.",
    ),
    code(
        "usage",
        (Some(2), None),
        "The command line is invalid; nothing was done.",
        "See `windlass help COMMAND`.",
    ),
    code(
        "bad_config",
        (Some(78), None),
        "An environment variable or the configuration file is invalid.",
        "See the settings in force, and where they come from, with `windlass config show`.",
    ),
    code(
        "too_large",
        (None, Some(413)),
        "A body, its headers or a line of an import is over the limit. A payload or a result over its limit is `invalid`.",
        "Send less, or store the bytes elsewhere and send a reference.",
    ),
    code(
        "not_found",
        (Some(3), Some(404)),
        "The queue, job, worker or route does not exist.",
        "List what exists: `windlass queue list`, `windlass job list QUEUE`, `windlass workers`.",
    ),
    code(
        "gone",
        (Some(3), Some(410)),
        "The job is no longer stored: it ended and was not kept, or it was removed.",
        "To keep outcomes, enqueue with `--wait`, or set `keep_succeeded=all` for the queue.",
    ),
    code(
        "conflict",
        (Some(4), Some(409)),
        "What was requested is already taken, such as a unique key.",
        "See the holder that the message names; wait for it, or choose another key.",
    ),
    code(
        "wrong_state",
        (Some(4), Some(409)),
        "The state of the job does not allow this.",
        "See its state with `windlass job get QUEUE ID`; the help names the state that allows it.",
    ),
    code(
        "lease_lost",
        (Some(4), Some(409)),
        "The token no longer holds the job; nothing changed.",
        "Discard the outcome: another worker may have the job by now. Claim again.",
    ),
    code(
        "cancelled",
        (None, None),
        "Dispatcher: the job was deleted while it was being sent to a worker.",
        "Send `worker_idle` to get another job.",
    ),
    code(
        "duplicate",
        (None, None),
        "Dispatcher: a job with this id already exists; no second one was created.",
        "Nothing: the first one runs. Use another id for another job.",
    ),
    code(
        "timed_out",
        (Some(124), Some(408)),
        "The wait timed out; the job continues.",
        "Wait longer, or check that a worker is alive with `windlass workers`.",
    ),
    code(
        "store_full",
        (Some(75), Some(503)),
        "The store is full; nothing was done.",
        "Let workers continue, which frees space, or give the store more space.",
    ),
    code(
        "store_busy",
        (Some(75), Some(503)),
        "The store is busy; nothing was done.",
        "Try again. If it persists, `windlass doctor` says what holds it.",
    ),
    code(
        "store_unreachable",
        (Some(69), Some(503)),
        "The store could not be reached; nothing was done.",
        "Check that it runs and that the address is right: `windlass doctor`.",
    ),
    code(
        "store_read_only",
        (Some(5), Some(500)),
        "This process may not write to the store.",
        "Grant write access: file permissions, or a server that is not a replica.",
    ),
    code(
        "store_foreign",
        (Some(78), Some(500)),
        "The data at this address is not a Windlass store.",
        "Use another file, or another prefix.",
    ),
    code(
        "store_damaged",
        (Some(69), Some(500)),
        "The stored data cannot be read.",
        "`windlass audit` repairs what can be repaired; otherwise restore a backup.",
    ),
    code(
        "store_newer",
        (Some(78), Some(500)),
        "A newer version of Windlass has written the store.",
        "Use that version, or a later one.",
    ),
    code(
        "store_unsupported",
        (Some(78), Some(500)),
        "The store cannot run here: its location or its engine is not safe.",
        "The message says what is missing: a local disk, or a later version of the server.",
    ),
    code(
        "outcome_unknown",
        (Some(75), Some(503)),
        "The request was sent, but no reply arrived: it may or may not have been executed.",
        "Repeat it with the same id or token: it is executed once, and you get the first reply.",
    ),
    code(
        "unwritable",
        (Some(1), None),
        "The work is done, but its result cannot be written.",
        "Free disk space, or redirect standard output; the message says what happened to the jobs.",
    ),
    code(
        "unauthorized",
        (None, Some(401)),
        "The request has no token, or one that the server does not know.",
        "Send `Authorization: Bearer TOKEN` with a token of the server.",
    ),
    code(
        "forbidden",
        (None, Some(403)),
        "The token, the origin or the form of the request does not allow this.",
        "Use a token with the scope that the message names.",
    ),
    code(
        "wrong_host",
        (None, Some(421)),
        "The server does not accept this host name.",
        "Use its address, or add the name with `windlass serve --host NAME`.",
    ),
    code(
        "method_not_allowed",
        (None, Some(405)),
        "The route exists, but not with this method.",
        "`/docs` lists the methods of each route.",
    ),
    code(
        "wrong_media_type",
        (None, Some(415)),
        "The route does not accept a body of this type.",
        "Send the Content-Type that the message names.",
    ),
    code(
        "url_too_long",
        (None, Some(414)),
        "The URL is over the limit.",
        "Move long values into the body.",
    ),
    code(
        "too_slow",
        (None, Some(408)),
        "The body of the request did not arrive in time.",
        "Send it again, in smaller pieces if the connection is slow.",
    ),
    code(
        "too_many_requests",
        (None, Some(429)),
        "The token has used up its rate, or too many wrong tokens came from this address.",
        "Retry after the number of seconds in `Retry-After`.",
    ),
    code(
        "overloaded",
        (None, Some(503)),
        "The server has reached one of its limits.",
        "Retry after the number of seconds in `Retry-After`.",
    ),
    code(
        "not_ready",
        (None, Some(503)),
        "The server is up, but its store does not answer.",
        "See `/readyz` and `windlass doctor`.",
    ),
    code(
        "internal",
        (Some(1), Some(500)),
        "A bug in Windlass.",
        "Report it, with the request and the message.",
    ),
];

impl Code {
    /// The code with this word.
    pub fn find(word: &str) -> Option<&'static Self> {
        CODES.iter().find(|code| code.word == word)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use std::path::{Path, PathBuf};

    use windlass_core::ErrorKind;

    use super::*;

    fn page() -> String {
        let mut page = String::from(
            "# Error codes\n\nLook up a code to see what happened, what to do next, and the exit status and HTTP status that go with it. To see one, run\n\
             `windlass job get mail no-such-job --json`.\n\n\
             Every error says what failed, why, and what to do, and has a code that never changes. Match on the code, not on the message.\n\n\
             - The command line prints `error: …` and `help: …`, or with `--json` an object `{\"error\":{code,message,help}}`.\n\
             - The HTTP API returns a problem document ([http.md](http.md#errors)).\n\
             - `windlass stdio` and `windlass processor` return it in the reply ([stdio.md](stdio.md), [processor.md](processor.md)).\n\n\
             | Code | What happened | What to do | Exit | HTTP |\n|---|---|---|---|---|\n",
        );
        for code in CODES {
            let Code {
                word, means, next, ..
            } = code;
            let exit = code
                .exit
                .map_or_else(|| "–".to_owned(), |exit| exit.to_string());
            let status = code
                .status
                .map_or_else(|| "–".to_owned(), |status| status.to_string());
            let _ = writeln!(page, "| `{word}` | {means} | {next} | {exit} | {status} |");
        }
        page += "\nThis page is generated from `crates/api/src/code.rs`: run `WINDLASS_SNAPSHOT=write cargo test -p windlass-api code`.\n";
        page
    }

    #[test]
    fn the_page_of_errors_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");
        if std::env::var_os("WINDLASS_SNAPSHOT").is_some() {
            std::fs::write(path, page()).expect("the page can be written");
        }
        let written = std::fs::read_to_string(path).expect("the page is there");
        assert!(
            written == page(),
            "docs/errors.md is old: write it with WINDLASS_SNAPSHOT=write cargo test -p windlass-api code"
        );
    }

    #[test]
    fn every_code_stands_in_the_table_once() {
        let words: BTreeSet<_> = CODES.iter().map(|code| code.word).collect();
        assert_eq!(words.len(), CODES.len());
        assert_eq!(Code::find("gone").map(|code| code.status), Some(Some(410)));
        assert_eq!(Code::find("no_such_code"), None);
    }

    /// The sources of all crates below a folder.
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_code_that_a_crate_says_stands_in_the_table() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        for entry in std::fs::read_dir(crates).expect("the crates") {
            let folder = entry.expect("a crate").path().join("src");
            if folder.is_dir() {
                sources(&folder, &mut files);
            }
        }
        let mut said = 0;
        // This file speaks of the ways themselves.
        for file in files
            .iter()
            .filter(|file| !file.ends_with("api/src/code.rs"))
        {
            let text = std::fs::read_to_string(file).expect("a source");
            let own = if file.ends_with("api/src/error.rs") {
                "Self::new("
            } else {
                "Refusal::new("
            };
            for call in ["Error::new(", own] {
                for (at, _) in text.match_indices(call) {
                    // `JobError::new` and the like take a message, not a code.
                    if text[..at].ends_with(char::is_alphanumeric) {
                        continue;
                    }
                    let word = text[at + call.len()..].trim_start().strip_prefix('"');
                    let Some((word, _)) = word.and_then(|rest| rest.split_once('"')) else {
                        continue;
                    };
                    said += 1;
                    assert!(Code::find(word).is_some(), "{word} in {}", file.display());
                }
            }
        }
        assert!(
            said > 20,
            "{said} codes were found: are they said another way?"
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
            ErrorKind::StoreUnsupported,
            ErrorKind::OutcomeUnknown,
            ErrorKind::Internal,
        ] {
            assert!(Code::find(kind.code()).is_some(), "{kind:?}");
        }
    }
}
