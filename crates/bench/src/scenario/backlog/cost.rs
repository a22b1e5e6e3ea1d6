//! The cost of a verb: Redis' script time, or the CPU time of this process, which includes SQLite.

use windlass::Result;

use crate::context::BenchContext;
use crate::probe::{ServerProbe, own_cpu_us};

/// Reads the cost so far, in microseconds.
#[derive(Debug)]
pub(super) enum Meter {
    Server(ServerProbe),
    Own,
}

impl Meter {
    pub(super) async fn open(context: &BenchContext<'_>) -> Result<Self> {
        Ok(match ServerProbe::open(context.target.url()).await? {
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
