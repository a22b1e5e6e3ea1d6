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
        "A part of the request is wrong; nothing was done.",
        "Correct the part that the message names. Repeated unchanged it fails again.",
    ),
    code(
        "usage",
        (Some(2), None),
        "The command line makes no sense; nothing was done.",
        "See `windlass help COMMAND`.",
    ),
    code(
        "bad_config",
        (Some(78), None),
        "A variable of the environment or the configuration file makes no sense.",
        "See what is in force, and where it comes from, with `windlass config show`.",
    ),
    code(
        "too_large",
        (None, Some(413)),
        "A body, its headers or a line of an import is larger than allowed. A payload or a result that is too large is `invalid`.",
        "Send less, or keep the bytes elsewhere and send where they are.",
    ),
    code(
        "not_found",
        (Some(3), Some(404)),
        "There is no such queue, job, worker or route.",
        "See what there is: `windlass queue list`, `windlass job list QUEUE`, `windlass workers`.",
    ),
    code(
        "gone",
        (Some(3), Some(410)),
        "The job is not stored any more: it has ended and was not kept, or was removed.",
        "To keep outcomes enqueue with `--wait`, or set `keep_succeeded=all` for the queue.",
    ),
    code(
        "conflict",
        (Some(4), Some(409)),
        "Something else holds what was asked for, such as a unique key.",
        "Look at the holder that the message names; wait for it, or choose another key.",
    ),
    code(
        "wrong_state",
        (Some(4), Some(409)),
        "The job is in a state that forbids this.",
        "Look at it with `windlass job get QUEUE ID`; the help says which state allows it.",
    ),
    code(
        "lease_lost",
        (Some(4), Some(409)),
        "The token does not hold the job any more; nothing changed.",
        "Discard the outcome: somebody else may have the job by now. Claim again.",
    ),
    code(
        "cancelled",
        (None, None),
        "The dispatcher: the job was deleted while it was on its way to a worker.",
        "Send `worker_idle` to be given another.",
    ),
    code(
        "duplicate",
        (None, None),
        "The dispatcher: a job with this id is there already; no second one was made.",
        "Nothing: the first one runs. Another id makes another job.",
    ),
    code(
        "timed_out",
        (Some(124), Some(408)),
        "What was waited for did not happen in time; the job goes on.",
        "Wait longer, or look whether a worker is alive with `windlass workers`.",
    ),
    code(
        "store_full",
        (Some(75), Some(503)),
        "The store has no room left; nothing was done.",
        "Let workers go on, which frees room, or give the store more.",
    ),
    code(
        "store_busy",
        (Some(75), Some(503)),
        "Somebody else holds the store for now; nothing was done.",
        "Try again; `windlass doctor` says who it is when it lasts.",
    ),
    code(
        "store_unreachable",
        (Some(69), Some(503)),
        "The store could not be reached; nothing was done.",
        "See that it runs and that the address is right: `windlass doctor`.",
    ),
    code(
        "store_read_only",
        (Some(5), Some(500)),
        "This process may not write to the store.",
        "Give it the right to: permissions of the file, or a server that is no replica.",
    ),
    code(
        "store_foreign",
        (Some(78), Some(500)),
        "What is at this address is no Windlass store.",
        "Name another file, or another prefix.",
    ),
    code(
        "store_damaged",
        (Some(69), Some(500)),
        "What is stored cannot be read.",
        "`windlass clean --deep` mends what can be mended; else restore a backup.",
    ),
    code(
        "store_newer",
        (Some(78), Some(500)),
        "A newer Windlass has written the store.",
        "Use that version, or a later one.",
    ),
    code(
        "store_unsupported",
        (Some(78), Some(500)),
        "The store does not run here: its place or its engine is not safe.",
        "The message says what is missing: a local disk, or a server of a later version.",
    ),
    code(
        "outcome_unknown",
        (Some(75), Some(503)),
        "The request was sent and no answer came: it may or may not have happened.",
        "Repeat it with the same id or token: it happens once, and the first answer comes back.",
    ),
    code(
        "unwritable",
        (Some(1), None),
        "The work is done, but its result cannot be written.",
        "Make room, or send standard output elsewhere; the message says what became of the jobs.",
    ),
    code(
        "unauthorized",
        (None, Some(401)),
        "There is no token with the request, or one that the server does not know.",
        "Send `Authorization: Bearer TOKEN` with a token of the server.",
    ),
    code(
        "forbidden",
        (None, Some(403)),
        "The token, the origin or the way of the request does not allow it.",
        "Use a token with the scope that the message names.",
    ),
    code(
        "wrong_host",
        (None, Some(421)),
        "The server does not answer to this name.",
        "Use its address, or let it know the name with `windlass serve --host NAME`.",
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
        "The body is not of a kind that the route takes.",
        "Send the Content-Type that the message names.",
    ),
    code(
        "url_too_long",
        (None, Some(414)),
        "The address is longer than allowed.",
        "Send what is long in the body.",
    ),
    code(
        "too_slow",
        (None, Some(408)),
        "The body of the request did not come in time.",
        "Send it again, in smaller pieces where the line is slow.",
    ),
    code(
        "too_many_requests",
        (None, Some(429)),
        "The token has used up its rate, or too many wrong tokens came from this address.",
        "Come back after the seconds in `Retry-After`.",
    ),
    code(
        "overloaded",
        (None, Some(503)),
        "The server has as much to do as it takes on.",
        "Come back after the seconds in `Retry-After`.",
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
        "A fault of Windlass itself.",
        "Report it, with what was asked and the message.",
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
            "# Errors\n\nEvery refusal says what happened, why, and what to do next, with a code that never changes. Over HTTP it is a problem \
             document, on the command line\n`error: …` and `help: …`, or with `--json` an object `{\"error\":{code,message,help}}`.\n\n\
             Written from `crates/api/src/code.rs` by `WINDLASS_SNAPSHOT=write cargo test -p windlass-api code`.\n\n\
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
