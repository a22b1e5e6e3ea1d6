//! The address of a Redis store: one server, a primary discovered through sentinels, or a Cluster.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use windlass_core::store::DurabilityLevel;
use windlass_core::{Error, Result};

mod parse;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

const DEFAULT_PREFIX: &str = "windlass";

/// A parsed store URL. Its `Display` and `Debug` output never contains a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkAddress {
    pub(crate) kind: Kind,
    /// Database number; always 0 in a Cluster.
    pub(crate) db: u32,
    /// Login for the servers that store jobs.
    pub(crate) login: Login,
    pub(crate) sentinel_login: Login,
    /// TLS files, or `None` for an unencrypted connection.
    pub(crate) tls: Option<Tls>,
    /// Prefix of every key.
    pub prefix: String,
    /// When an enqueue is confirmed.
    pub durability: DurabilityLevel,
    /// Timeout of a call, including connecting.
    pub timeout: Duration,
}

/// The servers of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Single(Server),
    /// A primary discovered through sentinels.
    Sentinel {
        hosts: Vec<Host>,
        /// The name under which they monitor the primary.
        master: String,
    },
    Cluster {
        /// Some of its nodes, from which the others are discovered.
        hosts: Vec<Host>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Server {
    /// A TCP address.
    Tcp(Host),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Host {
    /// The name or IP address.
    pub(crate) name: String,
    pub(crate) port: u16,
}

#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    /// The ACL user; `None` stands for `default`.
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// Trusted CA certificates (PEM); `None` uses the system's.
    pub(crate) ca: Option<PathBuf>,
    /// Client certificate and its key (PEM).
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

impl LinkAddress {
    /// Parses a URL. Errors never quote it, because it may contain a password.
    pub fn parse(url: &str) -> Result<Self> {
        parse::address(url)
    }

    /// Whether keys of different hash slots may be on different servers.
    pub fn is_cluster(&self) -> bool {
        matches!(self.kind, Kind::Cluster { .. })
    }
}

impl fmt::Display for LinkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() {
            "rediss"
        } else {
            "redis"
        };
        let secret = if self.login == Login::default() {
            ""
        } else {
            "***@"
        };
        match &self.kind {
            Kind::Single(Server::Tcp(host)) => write!(f, "{scheme}://{secret}{host}/{}", self.db)?,
            Kind::Single(Server::Unix(path)) => write!(f, "redis+unix://{}", path.display())?,
            Kind::Sentinel { hosts, master } => write!(
                f,
                "{scheme}-sentinel://{secret}{}/{master}/{}",
                join(hosts),
                self.db
            )?,
            Kind::Cluster { hosts } => write!(f, "{scheme}-cluster://{secret}{}", join(hosts))?,
        }
        let mut options = Vec::new();
        if matches!(self.kind, Kind::Single(Server::Unix(_))) && self.db != 0 {
            options.push(format!("db={}", self.db));
        }
        if self.prefix != DEFAULT_PREFIX {
            options.push(format!("prefix={}", self.prefix));
        }
        if self.durability != DurabilityLevel::Memory {
            options.push(format!("durability={}", self.durability));
        }
        if self.timeout != DEFAULT_TIMEOUT {
            let timeout = windlass_core::duration::format(self.timeout);
            options.push(format!("timeout={timeout}"));
        }
        if !options.is_empty() {
            write!(f, "?{}", options.join("&"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for LinkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => host.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Host {
    /// Parses `HOST:PORT` or `HOST`. An IPv6 address must be in brackets.
    pub(crate) fn parse(text: &str, default_port: u16) -> std::result::Result<Self, &'static str> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => rest
                .split_once(']')
                .ok_or("an IPv6 address has no closing bracket")?,
            None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
        };
        if name.is_empty() {
            return Err("the host is missing");
        }
        if name
            .chars()
            .any(|c| c.is_whitespace() || "@/?#%".contains(c))
        {
            return Err("the host contains an invalid character");
        }
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits
                .parse()
                .ok()
                .filter(|port| *port != 0)
                .ok_or("the port is not between 1 and 65535")?,
            Some(_) => return Err("the port is not a number"),
            None if port.is_empty() => default_port,
            None => return Err("unexpected text after the host"),
        };
        Ok(Self {
            name: name.to_owned(),
            port,
        })
    }
}

fn join(hosts: &[Host]) -> String {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    hosts.join(",")
}

fn invalid(why: &str, help: &'static str) -> Error {
    Error::invalid("store URL", why, help)
}

#[cfg(test)]
mod tests;
