//! SIGTERM and SIGINT, for commands that end by themselves when they are told to.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Failure, Result};

/// Hears signals from the moment it is made.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Option<Signal>,
}

impl Signals {
    /// Both.
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self {
            interrupt: Some(hear(SignalKind::interrupt())?),
            ..Self::listen_to_terminate()?
        })
    }

    /// SIGTERM alone: SIGINT ends the command as it ends any other.
    pub(crate) fn listen_to_terminate() -> Result<Self> {
        Ok(Self {
            terminate: hear(SignalKind::terminate())?,
            interrupt: None,
        })
    }

    /// Waits for the next.
    pub(crate) async fn next(&mut self) {
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

/// Hears one signal from now on.
pub(crate) fn hear(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|error| Failure::internal(format!("signals cannot be heard: {error}")))
}
