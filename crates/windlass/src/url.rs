//! The address of a store: `sqlite:PATH`, `memory:` or one of the Redis forms.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use windlass_core::{Error, Result};

const FORMS: &str = "write sqlite:PATH, memory:, redis://HOST:PORT/DB, rediss://…, \
                     redis+unix:///PATH, redis-sentinel://H1:P1,H2:P2/MASTER/DB or \
                     redis-cluster://H1:P1,H2:P2";

const REDIS_SCHEMES: [&str; 5] = [
    "redis",
    "rediss",
    "redis+unix",
    "redis-sentinel",
    "redis-cluster",
];

/// Where a store is. Printing it never shows a secret.
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
    },
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
            Self::Redis { url } => f.write_str(&without_secrets(url)),
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
        Some(address) if !address.is_empty() => Ok(StoreUrl::Redis {
            url: text.to_owned(),
        }),
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
        Some((_, host)) => format!("{scheme}://***@{host}"),
        None => format!("{scheme}://{rest}"),
    };
    for (at, option) in options
        .into_iter()
        .flat_map(|options| options.split('&'))
        .enumerate()
    {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        shown.push(if at == 0 { '?' } else { '&' });
        let is_public = ["prefix", "durability"].contains(&name);
        shown.push_str(if is_public { option } else { "***" });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StoreUrl> {
        text.parse()
    }

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
        ] {
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
        ] {
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
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }
}
