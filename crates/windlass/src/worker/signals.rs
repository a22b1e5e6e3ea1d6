//! The signals that ask a process to end.

use windlass_core::{Error, ErrorKind, Result};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for SIGTERM and SIGINT, from the moment it is made.
#[cfg(unix)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(deaf)?,
            interrupt: signal(SignalKind::interrupt()).map_err(deaf)?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Listens for Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
    pub(super) fn listen() -> Result<Self> {
        Ok(Self)
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Nobody can ask, so nobody does.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "Ctrl-C is heard without asking first")
)]
fn deaf(error: std::io::Error) -> Error {
    let what = "the worker cannot listen for signals";
    let help = "use Worker::run_until or Worker::start, and stop it by other means";
    Error::new(ErrorKind::Internal, what, help).caused_by(error)
}
