//! SIGTERM and SIGINT, for commands that shut down gracefully.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{CliError, Result};

/// Receives signals from the moment it is created.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Option<Signal>,
}

impl Signals {
    /// Listens for SIGTERM and SIGINT.
    pub fn listen() -> Result<Self> {
        Ok(Self {
            interrupt: Some(subscribe(SignalKind::interrupt())?),
            ..Self::listen_to_terminate()?
        })
    }

    /// Listens for SIGTERM only; SIGINT keeps its default handling.
    pub fn listen_to_terminate() -> Result<Self> {
        Ok(Self {
            terminate: subscribe(SignalKind::terminate())?,
            interrupt: None,
        })
    }

    /// Runs `work`, or returns nothing if a signal arrives first.
    pub async fn unless_next<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.next() => None,
        }
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        let interrupt = async {
            match &mut self.interrupt {
                Some(interrupt) => interrupt.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = interrupt => {}
        }
    }
}

/// Subscribes to one signal.
pub fn subscribe(kind: SignalKind) -> Result<Signal> {
    signal(kind)
        .map_err(|error| CliError::internal(format!("cannot install a signal handler: {error}")))
}
