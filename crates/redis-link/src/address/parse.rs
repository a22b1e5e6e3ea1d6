//! Parses a store URL.

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::Result;

use super::{
    DEFAULT_PREFIX, DEFAULT_TIMEOUT, DurabilityLevel, Host, Kind, LinkAddress, Login, Server, Tls,
    invalid,
};

const FORMS: &str = "use redis://[USER:PASSWORD@]HOST:PORT/DB, rediss://…, redis+unix:///PATH, \
                     redis-sentinel://H1:P1,H2:P2/MASTER/DB or redis-cluster://H1:P1,H2:P2";

const OPTIONS: &str = "expected one of: prefix, durability, timeout, db, user, password, \
                       sentinel_user, sentinel_password, ca, cert, key";

const LOGIN: &str = "use redis://USER:PASSWORD@HOST, or redis://:PASSWORD@HOST without a user; \
                     write @ : / ? % # and & in them as %40 %3A %2F %3F %25 %23 and %26";

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

const TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(600);

/// Upper bound of a database number, far above any real setting.
const MAX_DB: u32 = 1_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Single,
    Unix,
    Sentinel,
    Cluster,
}

pub(super) fn address(url: &str) -> Result<LinkAddress> {
    if url.chars().any(char::is_control) {
        return Err(invalid("it contains a control character", FORMS));
    }
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| invalid("it has no scheme", FORMS))?;
    let (form, is_encrypted) = match scheme {
        "redis" => (Form::Single, false),
        "rediss" => (Form::Single, true),
        "redis+unix" => (Form::Unix, false),
        "redis-sentinel" => (Form::Sentinel, false),
        "rediss-sentinel" => (Form::Sentinel, true),
        "redis-cluster" => (Form::Cluster, false),
        "rediss-cluster" => (Form::Cluster, true),
        _ => return Err(invalid("unknown scheme", FORMS)),
    };
    let (location, options) = rest.split_once('?').unwrap_or((rest, ""));
    let options = Options::parse(options)?;
    let (login, location) = login(form, location)?;
    let (kind, path_db) = kind(form, location)?;
    let db = at_most_one(path_db, options.db, "the database is given twice")?.unwrap_or(0);
    if form == Form::Cluster && db != 0 {
        return Err(invalid(
            "a Cluster only has database 0",
            "remove the database from the URL",
        ));
    }
    if form != Form::Sentinel && options.sentinel_login != Login::default() {
        return Err(invalid(
            "sentinel_user and sentinel_password need a redis-sentinel:// URL",
            "remove both, or use redis-sentinel://HOST:PORT/NAME/DB",
        ));
    }
    Ok(LinkAddress {
        kind,
        db,
        login: one_login(login, options.login)?,
        sentinel_login: checked(options.sentinel_login)?,
        tls: tls(is_encrypted, options.tls)?,
        prefix: options.prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned()),
        durability: options.durability.unwrap_or(DurabilityLevel::Memory),
        timeout: options.timeout.unwrap_or(DEFAULT_TIMEOUT),
    })
}

/// Splits off the login before the last `@`.
fn login(form: Form, location: &str) -> Result<(Login, &str)> {
    if form == Form::Unix {
        return Ok((Login::default(), location));
    }
    let Some((login, location)) = location.rsplit_once('@') else {
        return Ok((Login::default(), location));
    };
    let Some((user, password)) = login.split_once(':') else {
        return Err(invalid("it has a user but no password", LOGIN));
    };
    let user = decoded(user)?;
    let login = Login {
        user: (!user.is_empty()).then_some(user),
        password: Some(decoded(password)?),
    };
    Ok((login, location))
}

fn one_login(authority: Login, options: Login) -> Result<Login> {
    if authority != Login::default() && options != Login::default() {
        return Err(invalid("the login is given twice", LOGIN));
    }
    checked(if options == Login::default() {
        authority
    } else {
        options
    })
}

fn checked(login: Login) -> Result<Login> {
    match login.password.as_deref() {
        None if login.user.is_some() => Err(invalid("it has a user but no password", LOGIN)),
        Some("") => Err(invalid("the password is empty", LOGIN)),
        _ => Ok(login),
    }
}

fn kind(form: Form, location: &str) -> Result<(Kind, Option<u32>)> {
    if form == Form::Unix {
        if !location.starts_with('/') || location.len() < 2 {
            return Err(invalid("the socket path is missing", FORMS));
        }
        let path = PathBuf::from(decoded(location)?);
        return Ok((Kind::Single(Server::Unix(path)), None));
    }
    let (hosts, path) = location.split_once('/').unwrap_or((location, ""));
    match form {
        Form::Sentinel => {
            let hosts = host_list(hosts, SENTINEL_PORT)?;
            let (master, db) = path.split_once('/').unwrap_or((path, ""));
            let master = decoded(master)?;
            if master.is_empty() || master.contains(char::is_whitespace) {
                return Err(invalid("the name of the primary is missing", FORMS));
            }
            Ok((Kind::Sentinel { hosts, master }, database(db)?))
        }
        Form::Cluster => {
            let hosts = host_list(hosts, REDIS_PORT)?;
            Ok((Kind::Cluster { hosts }, database(path)?))
        }
        Form::Single | Form::Unix => {
            if hosts.contains(',') {
                return Err(invalid(
                    "it names several servers",
                    "use redis-sentinel:// or redis-cluster:// for several servers",
                ));
            }
            let host = Host::parse(hosts, REDIS_PORT).map_err(|why| invalid(why, FORMS))?;
            Ok((Kind::Single(Server::Tcp(host)), database(path)?))
        }
    }
}

fn host_list(hosts: &str, default_port: u16) -> Result<Vec<Host>> {
    hosts
        .split(',')
        .map(|host| Host::parse(host, default_port).map_err(|why| invalid(why, FORMS)))
        .collect()
}

fn database(text: &str) -> Result<Option<u32>> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(db) if digits && db <= MAX_DB => Ok(Some(db)),
        _ => Err(invalid("the database is not a number", FORMS)),
    }
}

/// The query string.
#[derive(Default)]
struct Options {
    db: Option<u32>,
    login: Login,
    sentinel_login: Login,
    tls: Files,
    prefix: Option<String>,
    durability: Option<DurabilityLevel>,
    timeout: Option<Duration>,
}

#[derive(Default, PartialEq)]
struct Files {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
}

impl Options {
    fn parse(text: &str) -> Result<Self> {
        let mut options = Self::default();
        for option in text.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| invalid("an option has no value", OPTIONS))?;
            // After an unescaped `?` in a password, the rest of it looks like an option.
            let shown = Some(name).filter(|_| !text.contains('@'));
            options.set(name, decoded(value)?, shown)?;
        }
        Ok(options)
    }

    /// Sets an option. `shown` is its name, unless that may be part of a password.
    fn set(&mut self, name: &str, value: String, shown: Option<&str>) -> Result<()> {
        match name {
            "db" => set_once(&mut self.db, database(&value)?.unwrap_or(0)),
            "user" => set_once(&mut self.login.user, value),
            "password" => set_once(&mut self.login.password, value),
            "sentinel_user" => set_once(&mut self.sentinel_login.user, value),
            "sentinel_password" => set_once(&mut self.sentinel_login.password, value),
            "ca" => set_once(&mut self.tls.ca, value),
            "cert" => set_once(&mut self.tls.cert, value),
            "key" => set_once(&mut self.tls.key, value),
            "prefix" => set_once(&mut self.prefix, prefix(value)?),
            "durability" => set_once(&mut self.durability, durability(&value)?),
            "timeout" => set_once(&mut self.timeout, timeout(&value)?),
            _ => Err(match shown {
                Some(name) => invalid(&format!("unknown option {name:?}"), OPTIONS),
                None => invalid("unknown option", OPTIONS),
            }),
        }
    }
}

fn set_once<T>(option: &mut Option<T>, value: T) -> Result<()> {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(invalid("an option is given twice", OPTIONS)),
    }
}

fn at_most_one<T>(first: Option<T>, second: Option<T>, why: &str) -> Result<Option<T>> {
    match (first, second) {
        (Some(_), Some(_)) => Err(invalid(why, FORMS)),
        (first, second) => Ok(first.or(second)),
    }
}

fn prefix(value: String) -> Result<String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    if (1..=64).contains(&value.len()) && value.chars().all(is_allowed) {
        Ok(value)
    } else {
        Err(invalid(
            "invalid prefix",
            "use 1 to 64 ASCII letters, digits or . _ : -",
        ))
    }
}

fn durability(value: &str) -> Result<DurabilityLevel> {
    let replicas = |text: &str| text.parse().ok().filter(|n| (1..=100).contains(n));
    let found = match value.split_once(':') {
        None if value == "memory" => Some(DurabilityLevel::Memory),
        None if value == "synced" => Some(DurabilityLevel::Synced),
        Some(("replicated", count)) => replicas(count).map(DurabilityLevel::Replicated),
        _ => None,
    };
    found.ok_or_else(|| {
        invalid(
            "unknown durability",
            "use durability=memory, durability=replicated:N or durability=synced",
        )
    })
}

fn timeout(value: &str) -> Result<Duration> {
    windlass_core::duration::parse(value)
        .ok()
        .filter(|timeout| TIMEOUTS.contains(timeout))
        .ok_or_else(|| {
            invalid(
                "the timeout is not a duration between 100ms and 10m",
                "use a value such as timeout=5s",
            )
        })
}

fn tls(is_encrypted: bool, files: Files) -> Result<Option<Tls>> {
    if !is_encrypted {
        return if files == Files::default() {
            Ok(None)
        } else {
            Err(invalid(
                "ca, cert and key need an encrypted connection",
                "use rediss:// for an encrypted connection",
            ))
        };
    }
    let identity = match (files.cert, files.key) {
        (Some(cert), Some(key)) => Some((cert.into(), key.into())),
        (None, None) => None,
        _ => {
            return Err(invalid(
                "cert and key must be given together",
                "use cert=FILE and key=FILE",
            ));
        }
    };
    Ok(Some(Tls {
        ca: files.ca.map(PathBuf::from),
        identity,
    }))
}

/// Decodes percent-encoding.
fn decoded(text: &str) -> Result<String> {
    let malformed = || invalid("a % is not followed by two hexadecimal digits", LOGIN);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |at: usize| {
            let byte = *after.get(at)?;
            char::from(byte).to_digit(16)
        };
        let (high, low) = digit(0).zip(digit(1)).ok_or_else(malformed)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| malformed())?);
        rest = &after[2..];
    }
    let text = String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8", LOGIN))?;
    if text.chars().any(char::is_control) {
        return Err(invalid("it contains a control character", LOGIN));
    }
    Ok(text)
}
