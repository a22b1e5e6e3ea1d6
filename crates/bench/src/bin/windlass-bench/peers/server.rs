//! A private server for every turn: Redis without persistence, or beanstalkd.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_testkit::redis::{Port, Server, ServerOptions};

use super::call::poll_pause;
use super::cost::Snapshot;
use super::peer::Engine;

/// How long a server may take to start, and its last clients to disconnect.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A running server; it stops when this value is dropped.
pub(super) enum Running {
    Redis(Server),
    Beanstalkd(Beanstalkd),
}

impl Running {
    /// Starts a server.
    pub(super) fn start(engine: Engine) -> Result<Self, String> {
        match engine {
            Engine::Redis => ServerOptions::new().tcp().try_start().map(Self::Redis),
            Engine::Beanstalkd => Beanstalkd::start().map(Self::Beanstalkd),
        }
    }

    /// The URL passed to the programs.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Redis(server) => format!("redis://127.0.0.1:{}/0", server.port()),
            Self::Beanstalkd(server) => format!("tcp://127.0.0.1:{}/", server.port.number()),
        }
    }

    /// The server without data.
    pub(super) fn emptied(self) -> Result<Self, String> {
        match self {
            Self::Redis(server) => {
                server.ask(&["FLUSHALL"])?;
                Ok(Self::Redis(server))
            }
            Self::Beanstalkd(_) => Self::start(Engine::Beanstalkd),
        }
    }

    /// The counters, once all clients have disconnected.
    pub(super) fn snapshot(&self) -> Result<Snapshot, String> {
        match self {
            Self::Redis(server) => {
                let began = Instant::now();
                loop {
                    let info = server.ask(&["INFO"])?.text();
                    let snapshot = Snapshot::of_info(&info);
                    // The one client is this connection.
                    if snapshot.clients <= 1.0 || began.elapsed() > TIMEOUT {
                        return Ok(snapshot);
                    }
                    poll_pause();
                }
            }
            Self::Beanstalkd(server) => Ok(Snapshot::of_process(server.child.id())),
        }
    }
}

/// beanstalkd in memory.
pub(super) struct Beanstalkd {
    child: Child,
    port: Port,
}

impl Beanstalkd {
    fn start() -> Result<Self, String> {
        let port = Port::reserve();
        let child = Command::new("beanstalkd")
            .args(["-l", "127.0.0.1", "-p", &port.number().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start `beanstalkd`: {error}"))?;
        let mut server = Self { child, port };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", server.port.number())).is_err() {
            let has_ended = !matches!(server.child.try_wait(), Ok(None));
            if has_ended || began.elapsed() > TIMEOUT {
                return Err("`beanstalkd` does not accept connections".to_owned());
            }
            poll_pause();
        }
        Ok(server)
    }
}

impl Drop for Beanstalkd {
    fn drop(&mut self) {
        // Fails if it has already exited, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
