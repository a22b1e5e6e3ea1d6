//! Options of a server.

use super::port::{Port, try_retry_taken_port};
use super::server::Server;

/// When a server syncs its append-only file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsync {
    /// About once per second.
    EverySecond,
    /// Before it replies to a write.
    Always,
}

/// Options of a server (default: a unix socket, nothing on disk).
#[derive(Debug, Clone, Default)]
#[must_use = "call `start` to start the server"]
pub struct ServerOptions {
    pub(crate) listens_on_port: bool,
    pub(crate) is_sentinel: bool,
    pub(crate) lines: Vec<String>,
    pub(crate) files: Vec<(&'static str, String)>,
}

impl ServerOptions {
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens on a port of 127.0.0.1 instead of a socket.
    pub fn tcp(mut self) -> Self {
        self.listens_on_port = true;
        self
    }

    /// Keeps the data in an append-only file, so that it survives a restart.
    pub fn append_only(self, sync: Fsync) -> Self {
        let policy = match sync {
            Fsync::EverySecond => "everysec",
            Fsync::Always => "always",
        };
        self.line("appendonly yes")
            .line(format!("appendfsync {policy}"))
    }

    /// Limits the memory; writes beyond it fail.
    pub fn max_memory(self, bytes: u64) -> Self {
        self.line(format!("maxmemory {bytes}"))
            .line("maxmemory-policy noeviction")
    }

    /// Adds a line to the configuration. Later lines override earlier ones.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Starts the server; it accepts commands when this returns.
    pub fn start(self) -> Server {
        self.try_start()
            .unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Like [`ServerOptions::start`], but returns the error.
    pub fn try_start(self) -> Result<Server, String> {
        try_retry_taken_port(|| {
            let port = self.listens_on_port.then(Port::try_reserve).transpose()?;
            Server::launch(&self, port)
        })
    }

    /// Runs as a Sentinel.
    pub(crate) fn sentinel(mut self) -> Self {
        self.is_sentinel = true;
        self
    }

    /// Adds a file to the server's folder.
    pub(crate) fn file(mut self, name: &'static str, text: String) -> Self {
        self.files.push((name, text));
        self
    }
}
