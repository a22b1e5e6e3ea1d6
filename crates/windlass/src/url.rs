//! The address of a store: `sqlite:PATH`, `memory:` or one of the Redis forms.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use windlass_core::{DurabilityLevel, Error, Result};

const FORMS: &str = "write sqlite:PATH, memory:, redis://HOST:PORT/DB, rediss://…, \
                     redis+unix:///PATH, redis-sentinel://H1:P1,H2:P2/MASTER/DB or \
                     redis-cluster://H1:P1,H2:P2";

const REDIS_SCHEMES: [&str; 7] = [
    "redis",
    "rediss",
    "redis+unix",
    "redis-sentinel",
    "rediss-sentinel",
    "redis-cluster",
    "rediss-cluster",
];

/// Options of a Redis URL that hold no secret.
const PUBLIC: [&str; 4] = ["prefix", "durability", "timeout", "db"];

/// How the keys of a Redis store begin where the URL does not say.
const DEFAULT_PREFIX: &str = "windlass";

/// Where a store is. Printing it never shows a secret.
///
/// ```
/// use windlass::StoreUrl;
///
/// let url: StoreUrl = "redis://joe:secret@host:6379/0".parse()?;
/// assert_eq!(url.to_string(), "redis://***@host:6379/0");
/// assert!("jobs.db".parse::<StoreUrl>().is_err()); // write sqlite:jobs.db
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrl {
    /// Within the process.
    Memory,
    /// In a file.
    Sqlite {
        /// The file; relative paths start at the current folder.
        path: PathBuf,
    },
    /// On a Redis or Valkey server, or several.
    #[non_exhaustive]
    Redis {
        /// The URL as it was given, user and password included: not for printing.
        url: String,
        /// How safe it asks a job to be.
        durability: DurabilityLevel,
    },
}

impl StoreUrl {
    /// The URL with its secrets, for another process that opens the same store: never for people.
    pub fn to_secret_string(&self) -> String {
        match self {
            Self::Redis { url, .. } => url.clone(),
            other => other.to_string(),
        }
    }

    /// How safe a job has to be before its enqueue is answered. A job that became less safe in time
    /// is stored and answered all the same, with the level that it has.
    ///
    /// ```
    /// # #[cfg(feature = "redis")] {
    /// use windlass::StoreUrl;
    /// use windlass::DurabilityLevel;
    ///
    /// let url: StoreUrl = "redis://host:6379/0?durability=replicated:1".parse()?;
    /// assert_eq!(url.durability(), DurabilityLevel::Replicated(1));
    /// # }
    /// # Ok::<(), windlass::Error>(())
    /// ```
    pub const fn durability(&self) -> DurabilityLevel {
        match self {
            Self::Memory => DurabilityLevel::Memory,
            Self::Sqlite { .. } => DurabilityLevel::Synced,
            Self::Redis { durability, .. } => *durability,
        }
    }

    /// A store of its own on the same servers, with keys that begin as this one's do and go on with
    /// `word`. Only a Redis store has such a beginning; another URL stays as it is.
    pub fn beneath(&self, word: &str) -> Result<Self> {
        let Self::Redis { url, .. } = self else {
            return Ok(self.clone());
        };
        let (address, options) = url.split_once('?').unwrap_or((url, ""));
        let mut prefix = DEFAULT_PREFIX;
        let mut kept = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.strip_prefix("prefix=") {
                Some(named) => prefix = named,
                None => kept.push(option),
            }
        }
        let prefix = format!("prefix={prefix}:{word}");
        kept.push(&prefix);
        format!("{address}?{}", kept.join("&")).parse()
    }
}

impl FromStr for StoreUrl {
    type Err = Error;

    /// Reads a URL. The text is never repeated in an error: it may hold a password.
    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: String| Error::invalid("store URL", why, FORMS);
        if text.chars().any(char::is_control) {
            return Err(bad("it has a control character in it".to_owned()));
        }
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(bad("it has no scheme".to_owned()));
        };
        match scheme {
            "sqlite" => sqlite(rest),
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "memory" => Err(bad("nothing may follow memory:".to_owned())),
            _ if REDIS_SCHEMES.contains(&scheme) => redis(text, rest),
            _ if is_scheme(scheme) => Err(bad(format!("the scheme {scheme:?} is not known"))),
            _ => Err(bad("it has no scheme".to_owned())),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Sqlite { path } => write!(f, "sqlite:{}", path.display()),
            Self::Redis { url, .. } => f.write_str(&without_secrets(url)),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn sqlite(rest: &str) -> Result<StoreUrl> {
    let bad = |why: &str, help: &'static str| Err(Error::invalid("store URL", why, help));
    // Other tools write sqlite:///srv/jobs.db for /srv/jobs.db.
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() {
        return bad(
            "the path is missing",
            "write sqlite:PATH, for example sqlite:windlass.db",
        );
    }
    if path.contains('?') {
        return bad(
            "the SQLite store takes no options",
            "write sqlite:PATH without a ?",
        );
    }
    // The engine reads these two as something else than the name of a file.
    if path == ":memory:" {
        return bad(
            "the SQLite store lives in a file",
            "write memory: for a store in memory",
        );
    }
    if path.starts_with("file:") {
        return bad(
            "the path is itself a URL",
            "write the path of the file alone",
        );
    }
    Ok(StoreUrl::Sqlite {
        path: PathBuf::from(path),
    })
}

fn redis(text: &str, rest: &str) -> Result<StoreUrl> {
    match rest.strip_prefix("//") {
        Some(address) if !address.is_empty() => {
            #[cfg(feature = "redis")]
            let durability = windlass_store_redis::check_url(text)?;
            #[cfg(not(feature = "redis"))]
            let durability = DurabilityLevel::Memory;
            Ok(StoreUrl::Redis {
                url: text.to_owned(),
                durability,
            })
        }
        _ => Err(Error::invalid("store URL", "the address is missing", FORMS)),
    }
}

/// Whether text before the first colon can be shown: a scheme, and not half of a secret.
fn is_scheme(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    text.len() <= 20
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_allowed)
}

/// The URL with user, password and every option but the public ones replaced.
fn without_secrets(url: &str) -> String {
    let (address, options) = url
        .split_once('?')
        .map_or((url, None), |(a, o)| (a, Some(o)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("redis", address));
    let mut shown = match rest.rsplit_once('@') {
        // The path of a socket is no login, whatever is in it.
        Some((_, host)) if scheme != "redis+unix" => format!("{scheme}://***@{host}"),
        _ => format!("{scheme}://{rest}"),
    };
    for (at, option) in options
        .into_iter()
        .flat_map(|options| options.split('&'))
        .enumerate()
    {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        shown.push(if at == 0 { '?' } else { '&' });
        shown.push_str(if PUBLIC.contains(&name) {
            option
        } else {
            "***"
        });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StoreUrl> {
        text.parse()
    }

    /// Read to the end, where that store is there.
    #[cfg(feature = "redis")]
    const WRONG_REDIS: [&str; 7] = [
        "redis://host:port/0",
        "redis://host/zero",
        "redis://a,b/0",
        "redis://host?prefix=a b",
        "redis://host?durability=forever",
        "redis://host?colour=red",
        "redis-sentinel://a:1",
    ];
    #[cfg(not(feature = "redis"))]
    const WRONG_REDIS: [&str; 0] = [];

    #[cfg(feature = "redis")]
    const WRONG_SECRETS: [&str; 4] = [
        "redis://joe:hunter2@host:port",
        "redis://joe:?hunter2@host",
        "redis://host/0?passwort=hunter2",
        "redis://host/0?hunter2",
    ];
    #[cfg(not(feature = "redis"))]
    const WRONG_SECRETS: [&str; 0] = [];

    #[test]
    fn a_sqlite_url_names_a_file() {
        for (text, path) in [
            ("sqlite:windlass.db", "windlass.db"),
            ("sqlite:/srv/jobs.db", "/srv/jobs.db"),
            ("sqlite:///srv/jobs.db", "/srv/jobs.db"),
            ("sqlite:a folder/å.db", "a folder/å.db"),
        ] {
            assert_eq!(
                parse(text).unwrap(),
                StoreUrl::Sqlite { path: path.into() },
                "{text}"
            );
        }
    }

    #[test]
    fn a_wrong_url_is_refused_with_help() {
        for bad in [
            "",
            "jobs.db",
            "sqlite:",
            "sqlite://",
            "sqlite::memory:",
            "sqlite:file:x",
            "sqlite:x?y=1",
            "sqlite:a\nb",
            "memory:x",
            "redis:",
            "redis://",
            "postgres://h/db",
            ":x",
        ]
        .into_iter()
        .chain(WRONG_REDIS)
        {
            assert!(!parse(bad).unwrap_err().help().is_empty(), "{bad:?}");
        }
    }

    #[test]
    fn every_redis_form_is_recognised() {
        for good in [
            "redis://localhost:6379/0",
            "rediss://u:p@h:6379/0?prefix=mine",
            "redis+unix:///run/redis.sock",
            "redis-sentinel://a:1,b:2/main/0",
            "redis-cluster://a:1,b:2",
            "rediss-sentinel://a:1,b:2/main/0?durability=replicated:1",
            "rediss-cluster://:p@a:1,b:2?timeout=2s",
        ] {
            assert!(
                matches!(parse(good).unwrap(), StoreUrl::Redis { .. }),
                "{good}"
            );
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let secret = "hunter2";
        for text in [
            "redis://joe:hunter2@host:6379/0?prefix=mine",
            "redis://:hun@ter2hunter2@host/0",
            "redis://h/0?user=joe&password=hunter2",
            "redis-sentinel://a/main/0?sentinel_password=hunter2",
            "redis://host/0?password=hunter2&prefix=mine",
        ] {
            let url = parse(text).unwrap();
            assert!(!format!("{url} {url:?}").contains(secret), "{url}");
        }
        for text in [
            "postgres://joe:hunter2@host",
            "hunter2@host:1",
            "memory:hunter2",
            "hunter2",
            "redis:hunter2",
        ]
        .into_iter()
        .chain(WRONG_SECRETS)
        {
            let error = parse(text).unwrap_err();
            assert!(
                !format!("{error} {} {error:?}", error.help()).contains(secret),
                "{error}"
            );
        }
    }

    #[test]
    fn a_url_without_secrets_is_printed_as_written() {
        for text in [
            "memory:",
            "sqlite:windlass.db",
            "redis://h:6379/0?prefix=mine",
            "redis+unix:///run/a@b.sock?db=1&timeout=1s",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_store_beneath_another_is_on_the_same_servers() {
        for (text, other) in [
            ("redis://h", "redis://h?prefix=windlass:demo"),
            ("redis://h?", "redis://h?prefix=windlass:demo"),
            (
                "redis://:hunter2@h/1?prefix=p&durability=synced",
                "redis://:hunter2@h/1?durability=synced&prefix=p:demo",
            ),
            ("sqlite:jobs.db", "sqlite:jobs.db"),
        ] {
            let url = parse(text).unwrap().beneath("demo").unwrap();
            assert_eq!(url.to_secret_string(), other);
        }
    }
}
