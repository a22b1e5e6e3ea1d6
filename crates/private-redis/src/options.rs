//! What a server is started with.

use crate::port::{Port, try_unless_taken};
use crate::server::Server;

/// When a server with an append-only file brings it to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsync {
    /// About once per second.
    EverySecond,
    /// Before it answers a write.
    Always,
}

/// A server to be: a unix socket and nothing on disk, unless told otherwise.
#[derive(Debug, Clone, Default)]
#[must_use = "a server runs only when it is started"]
pub struct ServerOptions {
    pub(crate) listens_on_port: bool,
    pub(crate) is_sentinel: bool,
    pub(crate) lines: Vec<String>,
    pub(crate) files: Vec<(&'static str, String)>,
}

impl ServerOptions {
    /// The plainest server.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens on a port of 127.0.0.1 in place of a socket.
    pub fn tcp(mut self) -> Self {
        self.listens_on_port = true;
        self
    }

    /// Keeps what it has in an append-only file, so that it has it again after a restart.
    pub fn append_only(self, sync: Fsync) -> Self {
        let word = match sync {
            Fsync::EverySecond => "everysec",
            Fsync::Always => "always",
        };
        self.line("appendonly yes")
            .line(format!("appendfsync {word}"))
    }

    /// Refuses writes that would need more memory than this.
    pub fn max_memory(self, bytes: u64) -> Self {
        self.line(format!("maxmemory {bytes}"))
            .line("maxmemory-policy noeviction")
    }

    /// A line of the configuration, after all others: it has the last word.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Starts it; it answers when this returns.
    ///
    /// # Panics
    ///
    /// When there is no `redis-server`, or it does not come up; its log is in the text.
    pub fn start(self) -> Server {
        self.try_start()
            .unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Starts it; it answers when this returns. The `Err` says why there is none: no `redis-server`
    /// is installed, or it did not come up, with the end of its log.
    pub fn try_start(self) -> Result<Server, String> {
        try_unless_taken(|| {
            let port = self.listens_on_port.then(Port::try_reserve).transpose()?;
            Server::launch(&self, port)
        })
    }

    /// A Sentinel: another program in the same binary.
    pub(crate) fn sentinel(mut self) -> Self {
        self.is_sentinel = true;
        self
    }

    /// A file that it finds in its folder.
    pub(crate) fn file(mut self, name: &'static str, text: String) -> Self {
        self.files.push((name, text));
        self
    }
}
