//! What a verb costs: Redis' own time for scripts, or the CPU of this process, which SQLite is part of.

use windlass::Result;

use crate::probe::{ServerProbe, own_cpu_us};
use crate::stage::Stage;

/// Reads the cost so far, in microseconds.
#[derive(Debug)]
pub(super) enum Meter {
    Server(ServerProbe),
    Own,
}

impl Meter {
    pub(super) async fn open(stage: &Stage<'_>) -> Result<Self> {
        Ok(match ServerProbe::open(stage.place.url()).await? {
            Some(server) => Self::Server(server),
            None => Self::Own,
        })
    }

    pub(super) async fn read(&self) -> Result<f64> {
        match self {
            Self::Server(server) => Ok(server.read().await?.script_us),
            Self::Own => Ok(own_cpu_us()),
        }
    }
}
