//! The signals that ask a process to stop.

use windlass_core::{Error, ErrorKind, Result};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives SIGTERM and SIGINT, from its creation on.
#[cfg(unix)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(signals_unavailable)?,
            interrupt: signal(SignalKind::interrupt()).map_err(signals_unavailable)?,
        })
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Receives Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "it may fail on Unix")]
    pub(super) fn listen() -> Result<Self> {
        Ok(Self)
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a handler there will be no signal.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg_attr(not(unix), expect(dead_code, reason = "Ctrl-C needs no setup"))]
fn signals_unavailable(error: std::io::Error) -> Error {
    let what = "cannot install signal handlers";
    let help = "use Worker::run_until or Worker::start, and stop the worker from code";
    Error::new(ErrorKind::Internal, what, help).caused_by(error)
}
