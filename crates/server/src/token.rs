//! Bearer tokens. They are stored as digests, compared in constant time and never shown.

mod digest;
mod generate;
mod strength;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use windlass_core::{Error, ErrorKind, Result};

use crate::scope::Grant;
use crate::trusted_file;
use digest::Digest;
pub use generate::NewToken;
use strength::{GuessableDigests, SECRET_CHARS_MIN, is_weak};

/// The largest token file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The accepted tokens, as digests.
#[derive(Clone, Default)]
pub struct Tokens(Vec<TokenEntry>);

/// A token with its permissions and limits.
#[derive(Clone)]
pub(crate) struct TokenEntry {
    /// The name in the token file; `env` for the token of the environment.
    pub(crate) name: Arc<str>,
    digest: Digest,
    pub(crate) grant: Grant,
    pub(crate) quota: Quota,
}

/// The limits of a token, if the token file sets them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Requests per second.
    pub(crate) rate: Option<NonZeroU32>,
    /// Open event streams.
    pub(crate) streams: Option<usize>,
    /// Requests in flight.
    pub(crate) requests: Option<usize>,
    /// Queues, and workers.
    pub(crate) names: Option<usize>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}

impl Tokens {
    /// Reads a token file. Each line is `NAME SHA256 SCOPES [QUEUES] [LIMITS]`: the SHA-256 of the
    /// token in hex, its scopes, queue patterns (default: all queues), and limits: `rate=N` requests
    /// per second, `streams=N` open event streams, `requests=N` requests in flight and `names=N`
    /// queues, and workers. `#` starts a comment.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |error: std::io::Error| {
            let what = format!("cannot read the token file {shown}");
            let help = "check the path and the permissions of the file";
            Error::new(ErrorKind::Invalid, what, help).caused_by(error)
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let bytes = trusted_file::check(&file, path, "token file")?.len();
        if bytes > FILE_BYTES_MAX {
            let why = format!("{bytes} bytes is too large; maximum {FILE_BYTES_MAX}");
            return Err(Error::invalid("token file", why, "remove unused tokens"));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unreadable)?;
        Self::parse(&text).map_err(|error| {
            let what = format!("{shown}: {error}");
            Error::new(error.kind(), what, error.help().to_owned())
        })
    }

    /// Parses the text of a token file. Errors give the line number but never its content.
    pub fn parse(text: &str) -> Result<Self> {
        let mut entries = Vec::new();
        let guessable = GuessableDigests::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            if line.trim().is_empty() {
                continue;
            }
            let entry = parse_line(line, &guessable).map_err(|error| {
                let what = format!("line {}: {error}", at + 1);
                Error::new(error.kind(), what, error.help().to_owned())
            })?;
            entries.push(entry);
        }
        if entries.is_empty() {
            let help = "add a line `NAME SHA256 SCOPES QUEUES`; see `windlass serve --help`";
            return Err(Error::invalid("token file", "no tokens found", help));
        }
        Ok(Self(entries))
    }

    /// Creates a set with one token that has every permission.
    pub fn single(secret: &str) -> Result<Self> {
        let is_plain = secret.chars().all(|c| c.is_ascii_graphic());
        if is_weak(secret) || !is_plain {
            let why =
                format!("expected at least {SECRET_CHARS_MIN} random, visible ASCII characters");
            let help = "generate one with `windlass token new NAME --scope admin`";
            return Err(Error::invalid("token", why, help));
        }
        Ok(Self(vec![TokenEntry {
            name: "env".into(),
            digest: Digest::of(secret),
            grant: Grant::all(),
            quota: Quota::default(),
        }]))
    }

    /// Combines two sets of tokens.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the permissions of a token, or `None` if it is unknown. Compares all entries, so that
    /// the time taken does not depend on the token.
    pub fn grant(&self, secret: &str) -> Option<&Grant> {
        self.find(secret).map(|at| &self.0[at].grant)
    }

    /// Returns the index of a token in [`Tokens::all`]. A weak token is never found, whatever its
    /// digest: the file cannot show how long a token is.
    pub(crate) fn find(&self, secret: &str) -> Option<usize> {
        if is_weak(secret) {
            return None;
        }
        let digest = Digest::of(secret);
        let mut found = None;
        for (at, entry) in self.0.iter().enumerate() {
            if entry.digest.is_same(&digest) {
                found = Some(at);
            }
        }
        found
    }

    /// Returns all entries.
    pub(crate) fn all(&self) -> &[TokenEntry] {
        &self.0
    }
}

fn parse_line(line: &str, guessable: &GuessableDigests) -> Result<TokenEntry> {
    let words: Vec<_> = line.split_whitespace().collect();
    // `=` is not allowed in queue names.
    let (limits, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word.contains('='));
    let (name, digest, scopes, queues) = match words.as_slice() {
        [name, digest, scopes] => (name, digest, scopes, "*"),
        [name, digest, scopes, queues] => (name, digest, scopes, *queues),
        _ => {
            let help = "use NAME SHA256 SCOPES [QUEUES], as `windlass token new` prints it";
            return Err(Error::invalid(
                "token",
                "expected three or four fields",
                help,
            ));
        }
    };
    let digest = Digest::from_hex(digest).ok_or_else(|| {
        let help = "hash the token with `printf %s TOKEN | sha256sum`";
        Error::invalid("digest", "expected 64 hex digits", help)
    })?;
    if guessable.contains(&digest, name) {
        let why = "it is the digest of a word that is easy to guess";
        let help = "replace the line with one of `windlass token new`";
        return Err(Error::invalid("token", why, help));
    }
    Ok(TokenEntry {
        name: (*name).into(),
        digest,
        grant: Grant::parse(scopes, queues)?,
        quota: parse_quota(&limits)?,
    })
}

fn parse_quota(limits: &[&str]) -> Result<Quota> {
    let bad = || {
        let help = "use rate=N (requests per second), streams=N (open event streams), requests=N \
            (requests in flight) and names=N (queues, and workers), each once";
        Error::invalid("token limit", "cannot be parsed", help)
    };
    let mut quota = Quota::default();
    for limit in limits {
        let (name, number) = limit.split_once('=').ok_or_else(bad)?;
        let is_duplicate = match name {
            "rate" => quota
                .rate
                .replace(number.parse().map_err(|_| bad())?)
                .is_some(),
            "streams" => quota
                .streams
                .replace(number.parse().map_err(|_| bad())?)
                .is_some(),
            "requests" => quota
                .requests
                .replace(number.parse().map_err(|_| bad())?)
                .is_some(),
            "names" => quota
                .names
                .replace(number.parse().map_err(|_| bad())?)
                .is_some(),
            _ => return Err(bad()),
        };
        if is_duplicate {
            return Err(bad());
        }
    }
    Ok(quota)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    /// The SHA-256 of [`SECRET`].
    const DIGEST: &str = "3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9";

    #[test]
    fn a_token_is_known_by_its_digest() {
        let file = format!("# ours\nann {DIGEST} read,enqueue mail-* # hers\n\n");
        let tokens = Tokens::parse(&file).unwrap();

        let grant = tokens.grant(SECRET).unwrap();
        assert!(grant.has(Scope::Enqueue) && !grant.allows_all_queues());
        let (longer, upper) = (format!("{SECRET} "), SECRET.to_uppercase());
        for wrong in ["", &SECRET[1..], &longer, &upper, DIGEST] {
            assert!(tokens.grant(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_line_may_limit_its_token() {
        let file =
            format!("ann {DIGEST} read rate=50 streams=0 requests=7\nbob {DIGEST} read mail-*");
        let tokens = Tokens::parse(&file).unwrap();
        let [ann, bob] = tokens.all() else {
            panic!("two tokens");
        };
        assert_eq!(
            (ann.quota.rate, ann.quota.streams, ann.quota.requests),
            (NonZeroU32::new(50), Some(0), Some(7))
        );
        assert!(ann.grant.allows_all_queues());
        assert_eq!(bob.quota, Quota::default());
    }

    #[test]
    fn an_error_in_the_file_has_the_line_number_and_shows_nothing_of_it() {
        for bad in [
            "hunter2hunter2",
            "ann hunter2 read",
            "ann hunter2 read a b c",
            &format!("ann {DIGEST} hunter2"),
            &format!("ann {DIGEST} read hunter2/x"),
            &format!("ann {DIGEST} read * hunter2=1"),
            &format!("ann {DIGEST} read * rate=hunter2"),
            &format!("ann {DIGEST} read * rate=0"),
            &format!("ann {DIGEST} read * streams=-1"),
            &format!("ann {DIGEST} read * rate=1 rate=2"),
        ] {
            let error = Tokens::parse(&format!("\n{bad}")).unwrap_err();
            let shown = format!("{error} {} {error:?}", error.help());
            assert!(shown.contains("line 2"), "{shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        assert!(Tokens::parse("# none\n").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_write_is_rejected() {
        use std::os::unix::fs::PermissionsExt;

        let name = format!(
            "windlass-tokens-{}-{}",
            std::process::id(),
            fastrand::u64(..)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, format!("ann {DIGEST} read\n")).unwrap();
        let read = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).unwrap();
            Tokens::read(&path)
        };
        for mode in [0o600, 0o400, 0o644, 0o640] {
            assert!(read(mode).is_ok(), "{mode:o}");
        }
        for mode in [0o666, 0o660, 0o620, 0o602] {
            let error = read(mode).unwrap_err();
            assert!(
                error.to_string().contains("other users may write"),
                "{error}"
            );
            assert!(error.help().contains("chmod go-w"), "{mode:o}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_guessable_token_is_rejected_in_a_file_too() {
        let digest: String = Digest::of("test").to_hex();
        let error = Tokens::parse(&format!("ann {digest} read")).unwrap_err();
        assert!(error.to_string().contains("easy to guess"), "{error}");
        // The file cannot show that this one is short, so it is rejected when it is sent.
        let digest = Digest::of("k7-short").to_hex();
        let tokens = Tokens::parse(&format!("ann {digest} read")).unwrap();
        assert!(tokens.grant("k7-short").is_none());
    }

    #[test]
    fn a_short_token_is_rejected_and_no_token_is_shown() {
        assert!(Tokens::single("hunter2").is_err());
        let secret = "s3cr3t-".repeat(6);
        let tokens = Tokens::single(&secret).unwrap();
        assert!(tokens.grant(&secret).is_some());
        assert!(!format!("{tokens:?}").contains("s3cr3t"));
    }
}
