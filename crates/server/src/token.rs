//! Bearer tokens: kept as digests, compared in constant time, never shown.

mod digest;

use std::fmt;
use std::num::NonZeroU32;
use std::path::Path;

use windlass_core::{Error, ErrorKind, Result};

use crate::scope::Grant;
use digest::Digest;

/// The fewest characters of a token: with 16 symbols they make 128 bits.
const SECRET_CHARS_MIN: usize = 32;

/// The largest file of tokens that is read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The tokens that open the door, as digests.
#[derive(Clone, Default)]
pub struct Tokens(Vec<Known>);

/// One token, and what it is good for.
#[derive(Clone)]
pub(crate) struct Known {
    digest: Digest,
    pub(crate) grant: Grant,
    pub(crate) quota: Quota,
}

/// How much a token may ask for, where its line says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Requests a second.
    pub(crate) rate: Option<NonZeroU32>,
    /// Streams of events at a time.
    pub(crate) streams: Option<usize>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({} of them)", self.0.len())
    }
}

impl Tokens {
    /// Reads a file: on each line a name, the SHA-256 of the token in hex, its scopes and, unless
    /// it is good for all, its queues. `rate=N` and `streams=N` at the end bound its requests a
    /// second and its streams. `#` begins a remark.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |error: std::io::Error| {
            let what = format!("the file of tokens {shown} cannot be read");
            let help = "check its name and permissions";
            Error::new(ErrorKind::Invalid, what, help).caused_by(error)
        };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > FILE_BYTES_MAX {
            let why = format!("it has {bytes} bytes, the limit is {FILE_BYTES_MAX}");
            return Err(Error::invalid(
                "file of tokens",
                why,
                "remove what is not needed",
            ));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(&text).map_err(|error| {
            let what = format!("{shown}: {error}");
            Error::new(error.kind(), what, error.help().to_owned())
        })
    }

    /// Reads the text of such a file. What is wrong is told by its line, never by its words.
    pub fn parse(text: &str) -> Result<Self> {
        let mut known = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            if line.trim().is_empty() {
                continue;
            }
            let found = parse_line(line).map_err(|error| {
                let what = format!("line {}: {error}", at + 1);
                Error::new(error.kind(), what, error.help().to_owned())
            })?;
            known.push(found);
        }
        if known.is_empty() {
            let help = "write one as `NAME SHA256 SCOPES QUEUES`: see `windlass serve --help`";
            return Err(Error::invalid("file of tokens", "it names none", help));
        }
        Ok(Self(known))
    }

    /// One token that may do everything.
    pub fn single(secret: &str) -> Result<Self> {
        let is_plain = secret.chars().all(|c| c.is_ascii_graphic());
        if secret.len() < SECRET_CHARS_MIN || !is_plain {
            let why = format!("it needs at least {SECRET_CHARS_MIN} visible characters");
            let help = "draw one with `openssl rand -hex 32`";
            return Err(Error::invalid("token", why, help));
        }
        Ok(Self(vec![Known {
            digest: Digest::of(secret),
            grant: Grant::all(),
            quota: Quota::default(),
        }]))
    }

    /// All of both.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What this token may do; nothing where it is unknown. Every known one is looked at, so that
    /// the time it takes says nothing.
    pub fn grant(&self, secret: &str) -> Option<&Grant> {
        self.find(secret).map(|at| &self.0[at].grant)
    }

    /// Which of [`Tokens::all`] this token is.
    pub(crate) fn find(&self, secret: &str) -> Option<usize> {
        let shown = Digest::of(secret);
        let mut found = None;
        for (at, known) in self.0.iter().enumerate() {
            if known.digest.is_same(&shown) {
                found = Some(at);
            }
        }
        found
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Known] {
        &self.0
    }
}

fn parse_line(line: &str) -> Result<Known> {
    let words: Vec<_> = line.split_whitespace().collect();
    // No queue has a name with this sign in it.
    let (bounds, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word.contains('='));
    let (digest, scopes, queues) = match words.as_slice() {
        [_, digest, scopes] => (digest, scopes, "*"),
        [_, digest, scopes, queues] => (digest, scopes, *queues),
        _ => {
            let help =
                "write NAME SHA256 SCOPES [QUEUES], for example `ann 9f86… read,enqueue mail-*`";
            return Err(Error::invalid(
                "token",
                "it does not have three or four words",
                help,
            ));
        }
    };
    let digest = Digest::from_hex(digest).ok_or_else(|| {
        let help = "hash the token with `printf %s TOKEN | sha256sum`";
        Error::invalid("digest", "it is not 64 hex digits", help)
    })?;
    Ok(Known {
        digest,
        grant: Grant::parse(scopes, queues)?,
        quota: parse_quota(&bounds)?,
    })
}

fn parse_quota(bounds: &[&str]) -> Result<Quota> {
    let bad = || {
        let help = "write rate=N for requests a second and streams=N for streams, each once";
        Error::invalid("bound of a token", "it cannot be read", help)
    };
    let mut quota = Quota::default();
    for bound in bounds {
        let (name, number) = bound.split_once('=').ok_or_else(bad)?;
        let was_there = match name {
            "rate" => quota
                .rate
                .replace(number.parse().map_err(|_| bad())?)
                .is_some(),
            "streams" => quota
                .streams
                .replace(number.parse().map_err(|_| bad())?)
                .is_some(),
            _ => return Err(bad()),
        };
        if was_there {
            return Err(bad());
        }
    }
    Ok(quota)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    /// The SHA-256 of `test`.
    const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    #[test]
    fn a_token_is_known_by_its_digest() {
        let file = format!("# ours\nann {DIGEST} read,enqueue mail-* # hers\n\n");
        let tokens = Tokens::parse(&file).unwrap();

        let grant = tokens.grant("test").unwrap();
        assert!(grant.has(Scope::Enqueue) && !grant.reaches_all());
        for wrong in ["", "tes", "test ", "Test", DIGEST] {
            assert!(tokens.grant(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_line_may_bound_what_its_token_asks_for() {
        let bounded = format!("ann {DIGEST} read rate=50 streams=0\nbob {DIGEST} read mail-*");
        let tokens = Tokens::parse(&bounded).unwrap();
        let [ann, bob] = tokens.all() else {
            panic!("two tokens");
        };
        assert_eq!(
            (ann.quota.rate, ann.quota.streams),
            (NonZeroU32::new(50), Some(0))
        );
        assert!(ann.grant.reaches_all());
        assert_eq!(bob.quota, Quota::default());
    }

    #[test]
    fn a_bad_file_is_told_by_its_line_and_shows_nothing_of_it() {
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

    #[test]
    fn a_short_token_is_refused_and_no_token_is_shown() {
        assert!(Tokens::single("hunter2").is_err());
        let secret = "s3cr3t-".repeat(6);
        let tokens = Tokens::single(&secret).unwrap();
        assert!(tokens.grant(&secret).is_some());
        assert!(!format!("{tokens:?}").contains("s3cr3t"));
    }
}
