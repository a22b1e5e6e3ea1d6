//! The URL of a store: `sqlite:PATH`, `memory:`, `http://HOST:PORT` or one of the Redis forms.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use windlass_core::store::DurabilityLevel;
use windlass_core::{Error, Result};

const FORMS: &str = "write sqlite:PATH, memory:, http://HOST:PORT, https://…, redis://HOST:PORT/DB, rediss://…, \
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

/// Options of a Redis URL that are not secret.
const PUBLIC: [&str; 4] = ["prefix", "durability", "timeout", "db"];

/// The default key prefix of a Redis store.
const DEFAULT_PREFIX: &str = "windlass";

/// The URL of a store. Printing it never shows a secret.
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
    /// In the memory of this process.
    Memory,
    /// In a file.
    Sqlite {
        /// The file; relative paths start at the current directory.
        path: PathBuf,
    },
    /// On one or several Redis or Valkey servers.
    #[non_exhaustive]
    Redis {
        /// The URL as given, including user and password: do not print it.
        url: String,
        /// The durability level that the URL asks for.
        durability: DurabilityLevel,
    },
    /// Behind a server: `windlass serve`. The URL has no secret.
    Http {
        /// The URL as given.
        url: String,
    },
}

impl StoreUrl {
    /// Returns the URL including its secrets, to pass it to another process. Do not print it.
    pub fn to_secret_string(&self) -> String {
        match self {
            Self::Redis { url, .. } => url.clone(),
            other => other.to_string(),
        }
    }

    /// Returns the durability level that an enqueue waits for. A job that does not reach it in time is
    /// stored anyway, and the reply has the level it reached.
    ///
    /// ```
    /// # #[cfg(feature = "redis")] {
    /// use windlass::store::DurabilityLevel;
    /// use windlass::StoreUrl;
    ///
    /// let url: StoreUrl = "redis://host:6379/0?durability=replicated:1".parse()?;
    /// assert_eq!(url.durability(), DurabilityLevel::Replicated(1));
    /// # }
    /// # Ok::<(), windlass::Error>(())
    /// ```
    pub const fn durability(&self) -> DurabilityLevel {
        match self {
            // A server waits for the level of its store, and the reply has the level reached.
            Self::Memory | Self::Http { .. } => DurabilityLevel::Memory,
            Self::Sqlite { .. } => DurabilityLevel::Synced,
            Self::Redis { durability, .. } => *durability,
        }
    }

    /// Returns the URL of a separate store on the same Redis servers, whose key prefix is this one's
    /// followed by `:` and `name`. Other URLs are returned unchanged.
    pub fn with_sub_prefix(&self, name: &str) -> Result<Self> {
        let Self::Redis { url, .. } = self else {
            return Ok(self.clone());
        };
        let (address, options) = url.split_once('?').unwrap_or((url, ""));
        let mut prefix = DEFAULT_PREFIX;
        let mut kept = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.strip_prefix("prefix=") {
                Some(given) => prefix = given,
                None => kept.push(option),
            }
        }
        let prefix = format!("prefix={prefix}:{name}");
        kept.push(&prefix);
        format!("{address}?{}", kept.join("&")).parse()
    }
}

impl FromStr for StoreUrl {
    type Err = Error;

    /// Parses a URL. Errors never contain the text, which may contain a password.
    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: String| Error::invalid("store URL", why, FORMS);
        if text.chars().any(char::is_control) {
            return Err(bad("it contains a control character".to_owned()));
        }
        let no_scheme = || {
            let error = bad("it has no scheme".to_owned());
            match meant(text) {
                Some(url) => error.with_help(url),
                None => error,
            }
        };
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(no_scheme());
        };
        match scheme {
            "sqlite" => sqlite(rest),
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "memory" => Err(bad("memory: takes no path or options".to_owned())),
            "http" | "https" => http(text),
            _ if REDIS_SCHEMES.contains(&scheme) => redis(text, rest),
            _ if rest.parse::<u16>().is_ok() => Err(no_scheme()),
            _ if is_scheme(scheme) => Err(bad(format!("unknown scheme {scheme:?}"))),
            _ => Err(no_scheme()),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Sqlite { path } => write!(f, "sqlite:{}", path.display()),
            Self::Redis { url, .. } => f.write_str(&without_secrets(url)),
            Self::Http { url } => f.write_str(url),
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
    // SQLite gives these two a special meaning.
    if path == ":memory:" {
        return bad(
            "the SQLite store needs a file",
            "write memory: for an in-memory store",
        );
    }
    // Any other URL may have a password, and paths are shown.
    let scheme = path.split(':').next().unwrap_or_default();
    if path.starts_with("file:")
        || path.contains("://")
        || REDIS_SCHEMES.contains(&scheme) && scheme != path
    {
        return bad(
            "the path is a URL",
            "write only the path of the file after sqlite:, or the URL without sqlite:",
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

#[cfg(feature = "http")]
fn http(text: &str) -> Result<StoreUrl> {
    text.parse::<windlass_store_http::HttpAddress>()?;
    Ok(StoreUrl::Http {
        url: text.to_owned(),
    })
}

/// Without the feature nothing checks that the URL has no secret, and it could not be opened.
#[cfg(not(feature = "http"))]
fn http(_text: &str) -> Result<StoreUrl> {
    let help = "build Windlass with the feature http";
    Err(Error::invalid(
        "store URL",
        "this build does not include the HTTP store",
        help,
    ))
}

/// Returns what to write instead of a path or an address without a scheme. Other text may be a secret, and is
/// not shown.
fn meant(text: &str) -> Option<String> {
    const ENDINGS: [&str; 4] = [".db", ".db3", ".sqlite", ".sqlite3"];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/~".contains(c);
    if let Some((host, port)) = text.split_once(':') {
        let is_address =
            port.parse::<u16>().is_ok() && !host.is_empty() && host.chars().all(is_plain);
        return is_address.then(|| {
            format!("write redis://{text}/0 for Redis, or http://{text} for a store behind `windlass serve`")
        });
    }
    let is_file = ENDINGS.iter().any(|ending| text.ends_with(ending));
    (is_file && text.chars().all(is_plain)).then(|| format!("write sqlite:{text}"))
}

/// Whether the text before the first colon can be shown: a scheme, not part of a secret.
fn is_scheme(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    text.len() <= 20
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_allowed)
}

/// Returns the URL with user, password and all options except the public ones replaced.
fn without_secrets(url: &str) -> String {
    let (address, options) = url
        .split_once('?')
        .map_or((url, None), |(a, o)| (a, Some(o)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("redis", address));
    let mut shown = match rest.rsplit_once('@') {
        // A socket path may contain an @ and has no login.
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

    /// Parsed only if the Redis store is compiled in.
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
            ("sqlite:redis", "redis"),
            ("sqlite:12:30.db", "12:30.db"),
        ] {
            assert_eq!(
                parse(text).unwrap(),
                StoreUrl::Sqlite { path: path.into() },
                "{text}"
            );
        }
    }

    #[test]
    fn a_wrong_url_is_rejected_with_help() {
        for bad in [
            "",
            "jobs.db",
            "sqlite:",
            "sqlite://",
            "sqlite::memory:",
            "sqlite:file:x",
            "sqlite:redis://h",
            "sqlite:redis:x",
            "sqlite:a/postgres://h",
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
    fn a_path_or_an_address_without_a_scheme_gets_the_url_that_was_meant() {
        for (text, help) in [
            ("jobs.db", "write sqlite:jobs.db"),
            ("/srv/my-jobs.sqlite3", "write sqlite:/srv/my-jobs.sqlite3"),
            ("localhost:6379", "write redis://localhost:6379/0"),
            ("127.0.0.1:7700", "http://127.0.0.1:7700"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.help().contains(help), "{text}: {}", error.help());
        }
    }

    #[cfg(all(feature = "redis", feature = "http"))]
    #[test]
    fn an_unknown_option_is_named_unless_it_may_be_a_secret() {
        for text in ["redis://host?colour=red", "http://host:1?colour=red"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("\"colour\""), "{error}");
        }
        for text in ["redis://joe:?colour=x@host", "http://host:1?colour"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(!error.contains("colour"), "{error}");
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
    fn a_sub_prefix_keeps_the_servers_and_other_options() {
        for (text, other) in [
            ("redis://h", "redis://h?prefix=windlass:demo"),
            ("redis://h?", "redis://h?prefix=windlass:demo"),
            (
                "redis://:hunter2@h/1?prefix=p&durability=synced",
                "redis://:hunter2@h/1?durability=synced&prefix=p:demo",
            ),
            ("sqlite:jobs.db", "sqlite:jobs.db"),
        ] {
            let url = parse(text).unwrap().with_sub_prefix("demo").unwrap();
            assert_eq!(url.to_secret_string(), other);
        }
    }
}
