//! SIGTERM and SIGINT, for commands that end by themselves when they are told to.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Failure, Result};

/// Hears both signals from the moment it is made.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self> {
        let hear = |kind| {
            signal(kind)
                .map_err(|error| Failure::internal(format!("signals cannot be heard: {error}")))
        };
        Ok(Self {
            terminate: hear(SignalKind::terminate())?,
            interrupt: hear(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next of either.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
