//! Where a Redis store is: one server, a primary that sentinels know, or a Cluster.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use windlass_core::{DurabilityLevel, Error, Result};

mod parse;

/// How long a call may take where the URL does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// The first word of every key where the URL does not say.
const DEFAULT_PREFIX: &str = "windlass";

/// Where a store is and how to come in. Printing it never shows a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The servers.
    pub(crate) kind: Kind,
    /// The number of the database; always 0 in a Cluster.
    pub(crate) db: u32,
    /// Who we are to the servers that hold jobs.
    pub(crate) login: Login,
    /// Who we are to sentinels.
    pub(crate) sentinel_login: Login,
    /// Encrypted, and with which certificates.
    pub(crate) tls: Option<Tls>,
    /// The first word of every key.
    pub(crate) prefix: String,
    /// How safe a job has to be before its enqueue is answered.
    pub(crate) durability: Durability,
    /// How long a call may take, connecting included.
    pub(crate) timeout: Duration,
}

/// The servers of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One server.
    Single(Server),
    /// The primary that sentinels know by this name.
    Sentinel {
        /// Where the sentinels are.
        hosts: Vec<Host>,
        /// The name they know the primary by.
        master: String,
    },
    /// A Cluster.
    Cluster {
        /// Some of its nodes; the others are learnt from them.
        hosts: Vec<Host>,
    },
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Server {
    /// Over the network.
    Tcp(Host),
    /// On this machine.
    Unix(PathBuf),
}

/// A name or number of a machine, and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Host {
    /// The name or IP address.
    pub(crate) name: String,
    /// The TCP port.
    pub(crate) port: u16,
}

/// A user and a password.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    /// The ACL user; none is `default`.
    pub(crate) user: Option<String>,
    /// The password.
    pub(crate) password: Option<String>,
}

/// Files for TLS; the system's authorities are trusted where none is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The authority to trust, in PEM.
    pub(crate) ca: Option<PathBuf>,
    /// Our certificate and its key, in PEM.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

/// How safe a job has to be before its enqueue is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The server holds it in memory.
    Memory,
    /// This many replicas hold it as well.
    Replicated(u32),
    /// It is on disk.
    Synced,
}

impl Address {
    /// Reads a URL. Nothing of the text is repeated in an error: it may hold a password.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        parse::address(url)
    }
}

impl fmt::Display for Address {
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
                list(hosts),
                self.db
            )?,
            Kind::Cluster { hosts } => write!(f, "{scheme}-cluster://{secret}{}", list(hosts))?,
        }
        let mut options = Vec::new();
        if matches!(self.kind, Kind::Single(Server::Unix(_))) && self.db != 0 {
            options.push(format!("db={}", self.db));
        }
        if self.prefix != DEFAULT_PREFIX {
            options.push(format!("prefix={}", self.prefix));
        }
        if self.durability != Durability::Memory {
            options.push(format!(
                "durability={}",
                DurabilityLevel::from(self.durability)
            ));
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

impl fmt::Debug for Address {
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

impl From<Durability> for DurabilityLevel {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Memory => Self::Memory,
            Durability::Replicated(replicas) => Self::Replicated(replicas),
            Durability::Synced => Self::Synced,
        }
    }
}

impl Host {
    /// Reads `HOST:PORT` or `HOST`; an IPv6 address stands in brackets.
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
            return Err("the host has a character in it that no host has");
        }
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits
                .parse()
                .ok()
                .filter(|port| *port != 0)
                .ok_or("the port is not between 1 and 65535")?,
            Some(_) => return Err("the port is not a number"),
            None if port.is_empty() => default_port,
            None => return Err("something stands between the host and its port"),
        };
        Ok(Self {
            name: name.to_owned(),
            port,
        })
    }
}

fn list(hosts: &[Host]) -> String {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    hosts.join(",")
}

fn bad(why: &str, help: &'static str) -> Error {
    Error::invalid("store URL", why, help)
}

#[cfg(test)]
mod tests;
