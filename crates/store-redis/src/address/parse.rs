//! Reads a store URL, piece by piece.

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::Result;

use super::{
    Address, DEFAULT_PREFIX, DEFAULT_TIMEOUT, Durability, Host, Kind, Login, Server, Tls, bad,
};

const FORMS: &str = "write redis://[USER:PASSWORD@]HOST:PORT/DB, rediss://…, redis+unix:///PATH, \
                     redis-sentinel://H1:P1,H2:P2/MASTER/DB or redis-cluster://H1:P1,H2:P2";

const OPTIONS: &str = "the options are prefix, durability, timeout, db, user, password, \
                       sentinel_user, sentinel_password, ca, cert and key";

const LOGIN: &str = "write redis://USER:PASSWORD@HOST, or redis://:PASSWORD@HOST without a user; \
                     write @ : / ? % # and & inside them as %40 %3A %2F %3F %25 %23 and %26";

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// No call is over in less, and no caller waits for longer.
const TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(600);

/// More databases than any server has.
const MAX_DB: u32 = 1_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Single,
    Unix,
    Sentinel,
    Cluster,
}

pub(super) fn address(url: &str) -> Result<Address> {
    if url.chars().any(char::is_control) {
        return Err(bad("it has a control character in it", FORMS));
    }
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| bad("it has no scheme", FORMS))?;
    let (form, is_encrypted) = match scheme {
        "redis" => (Form::Single, false),
        "rediss" => (Form::Single, true),
        "redis+unix" => (Form::Unix, false),
        "redis-sentinel" => (Form::Sentinel, false),
        "rediss-sentinel" => (Form::Sentinel, true),
        "redis-cluster" => (Form::Cluster, false),
        "rediss-cluster" => (Form::Cluster, true),
        _ => return Err(bad("the scheme is not known", FORMS)),
    };
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let options = Options::read(options)?;
    let (login, place) = login(form, place)?;
    let (kind, path_db) = kind(form, place)?;
    let db = once(path_db, options.db, "the database is given twice")?.unwrap_or(0);
    if form == Form::Cluster && db != 0 {
        return Err(bad(
            "a Cluster has no databases but 0",
            "leave the database out",
        ));
    }
    if form != Form::Sentinel && options.sentinel_login != Login::default() {
        return Err(bad(
            "it has a login for sentinels and no sentinels",
            "leave sentinel_user and sentinel_password out",
        ));
    }
    Ok(Address {
        kind,
        db,
        login: one_login(login, options.login)?,
        sentinel_login: whole(options.sentinel_login)?,
        tls: tls(is_encrypted, options.tls)?,
        prefix: options.prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned()),
        durability: options.durability.unwrap_or(Durability::Memory),
        timeout: options.timeout.unwrap_or(DEFAULT_TIMEOUT),
    })
}

/// The login before the last `@`, and what comes after it.
fn login(form: Form, place: &str) -> Result<(Login, &str)> {
    if form == Form::Unix {
        return Ok((Login::default(), place));
    }
    let Some((login, place)) = place.rsplit_once('@') else {
        return Ok((Login::default(), place));
    };
    let Some((user, password)) = login.split_once(':') else {
        return Err(bad("it has a user and no password", LOGIN));
    };
    let user = decoded(user)?;
    let login = Login {
        user: (!user.is_empty()).then_some(user),
        password: Some(decoded(password)?),
    };
    Ok((login, place))
}

fn one_login(written: Login, options: Login) -> Result<Login> {
    if written != Login::default() && options != Login::default() {
        return Err(bad("the login is given twice", LOGIN));
    }
    whole(if options == Login::default() {
        written
    } else {
        options
    })
}

fn whole(login: Login) -> Result<Login> {
    match login.password.as_deref() {
        None if login.user.is_some() => Err(bad("it has a user and no password", LOGIN)),
        Some("") => Err(bad("the password is empty", LOGIN)),
        _ => Ok(login),
    }
}

fn kind(form: Form, place: &str) -> Result<(Kind, Option<u32>)> {
    if form == Form::Unix {
        if !place.starts_with('/') || place.len() < 2 {
            return Err(bad("the path of the socket is missing", FORMS));
        }
        let path = PathBuf::from(decoded(place)?);
        return Ok((Kind::Single(Server::Unix(path)), None));
    }
    let (hosts, path) = place.split_once('/').unwrap_or((place, ""));
    match form {
        Form::Sentinel => {
            let hosts = listed(hosts, SENTINEL_PORT)?;
            let (master, db) = path.split_once('/').unwrap_or((path, ""));
            let master = decoded(master)?;
            if master.is_empty() || master.contains(char::is_whitespace) {
                return Err(bad("the name of the primary is missing", FORMS));
            }
            Ok((Kind::Sentinel { hosts, master }, database(db)?))
        }
        Form::Cluster => {
            let hosts = listed(hosts, REDIS_PORT)?;
            Ok((Kind::Cluster { hosts }, database(path)?))
        }
        Form::Single | Form::Unix => {
            if hosts.contains(',') {
                return Err(bad(
                    "it names several servers",
                    "write redis-sentinel:// or redis-cluster:// for several",
                ));
            }
            let host = Host::parse(hosts, REDIS_PORT).map_err(|why| bad(why, FORMS))?;
            Ok((Kind::Single(Server::Tcp(host)), database(path)?))
        }
    }
}

fn listed(hosts: &str, default_port: u16) -> Result<Vec<Host>> {
    hosts
        .split(',')
        .map(|host| Host::parse(host, default_port).map_err(|why| bad(why, FORMS)))
        .collect()
}

fn database(text: &str) -> Result<Option<u32>> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(db) if digits && db <= MAX_DB => Ok(Some(db)),
        _ => Err(bad("the database is not a number", FORMS)),
    }
}

/// Everything after the `?`.
#[derive(Default)]
struct Options {
    db: Option<u32>,
    login: Login,
    sentinel_login: Login,
    tls: Files,
    prefix: Option<String>,
    durability: Option<Durability>,
    timeout: Option<Duration>,
}

#[derive(Default, PartialEq)]
struct Files {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
}

impl Options {
    fn read(text: &str) -> Result<Self> {
        let mut options = Self::default();
        for option in text.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| bad("an option has no value", OPTIONS))?;
            options.take(name, decoded(value)?)?;
        }
        Ok(options)
    }

    fn take(&mut self, name: &str, value: String) -> Result<()> {
        match name {
            "db" => put(&mut self.db, database(&value)?.unwrap_or(0)),
            "user" => put(&mut self.login.user, value),
            "password" => put(&mut self.login.password, value),
            "sentinel_user" => put(&mut self.sentinel_login.user, value),
            "sentinel_password" => put(&mut self.sentinel_login.password, value),
            "ca" => put(&mut self.tls.ca, value),
            "cert" => put(&mut self.tls.cert, value),
            "key" => put(&mut self.tls.key, value),
            "prefix" => put(&mut self.prefix, prefix(value)?),
            "durability" => put(&mut self.durability, durability(&value)?),
            "timeout" => put(&mut self.timeout, timeout(&value)?),
            // Not repeated: a password with a bare ? in it would be shown.
            _ => Err(bad("it has an option that is not known", OPTIONS)),
        }
    }
}

fn put<T>(place: &mut Option<T>, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(bad("an option is given twice", OPTIONS)),
    }
}

fn once<T>(first: Option<T>, second: Option<T>, why: &str) -> Result<Option<T>> {
    match (first, second) {
        (Some(_), Some(_)) => Err(bad(why, FORMS)),
        (first, second) => Ok(first.or(second)),
    }
}

fn prefix(value: String) -> Result<String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    if (1..=64).contains(&value.len()) && value.chars().all(is_allowed) {
        Ok(value)
    } else {
        Err(bad(
            "the prefix is not a name",
            "write 1 to 64 letters, digits or . _ : -",
        ))
    }
}

fn durability(value: &str) -> Result<Durability> {
    let replicas = |text: &str| text.parse().ok().filter(|n| (1..=100).contains(n));
    let found = match value.split_once(':') {
        None if value == "memory" => Some(Durability::Memory),
        None if value == "synced" => Some(Durability::Synced),
        Some(("replicated", count)) => replicas(count).map(Durability::Replicated),
        _ => None,
    };
    found.ok_or_else(|| {
        bad(
            "the durability is not known",
            "write durability=memory, durability=replicated:N or durability=synced",
        )
    })
}

fn timeout(value: &str) -> Result<Duration> {
    windlass_core::duration::parse(value)
        .ok()
        .filter(|timeout| TIMEOUTS.contains(timeout))
        .ok_or_else(|| {
            bad(
                "the timeout is not a duration between 100ms and 10m",
                "write it like timeout=5s",
            )
        })
}

fn tls(is_encrypted: bool, files: Files) -> Result<Option<Tls>> {
    if !is_encrypted {
        return if files == Files::default() {
            Ok(None)
        } else {
            Err(bad(
                "it names certificates and is not encrypted",
                "write rediss:// for an encrypted connection",
            ))
        };
    }
    let identity = match (files.cert, files.key) {
        (Some(cert), Some(key)) => Some((cert.into(), key.into())),
        (None, None) => None,
        _ => {
            return Err(bad(
                "it names a certificate without its key, or a key without its certificate",
                "write cert=FILE and key=FILE together",
            ));
        }
    };
    Ok(Some(Tls {
        ca: files.ca.map(PathBuf::from),
        identity,
    }))
}

/// Resolves `%41`.
fn decoded(text: &str) -> Result<String> {
    let wrong = || bad("a % is not followed by two hexadecimal digits", LOGIN);
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
        let (high, low) = digit(0).zip(digit(1)).ok_or_else(wrong)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| wrong())?);
        rest = &after[2..];
    }
    let text = String::from_utf8(bytes).map_err(|_| bad("it is not UTF-8", LOGIN))?;
    if text.chars().any(char::is_control) {
        return Err(bad("it has a control character in it", LOGIN));
    }
    Ok(text)
}
