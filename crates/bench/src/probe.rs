//! Costs of jobs other than time: CPU of this process and of Redis, calls, memory.
//!
//! CPU time is comparable even if the machine has other load.

mod own;
mod server;

use windlass::Result;

pub(crate) use own::own_cpu_us;
pub(crate) use server::ServerProbe;

use crate::measure::{Round, real};
use crate::target::LoadTarget;

/// Reads the costs so far of a target.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    pub(crate) server: Option<ServerProbe>,
}

/// The costs at one point in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    own_us: f64,
    server: Option<server::Reading>,
}

/// The cost per job between two readings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) own_us: f64,
    pub(crate) server_us: Option<f64>,
    pub(crate) scripts: Option<f64>,
    pub(crate) commands: Option<f64>,
    pub(crate) bytes: Option<f64>,
}

impl Probe {
    pub(crate) async fn open(target: &LoadTarget) -> Result<Self> {
        Ok(Self {
            server: ServerProbe::open(target.url()).await?,
        })
    }

    pub(crate) async fn read(&self) -> Result<Reading> {
        let server = match &self.server {
            Some(server) => Some(server.read().await?),
            None => None,
        };
        Ok(Reading {
            own_us: own_cpu_us(),
            server,
        })
    }

    /// The cost per job since a reading.
    pub(crate) async fn since(&self, before: &Reading, jobs: u64) -> Result<Cost> {
        let after = self.read().await?;
        let jobs = real(jobs.max(1));
        let each = |pick: fn(&server::Reading) -> f64| {
            let (before, after) = (before.server.as_ref()?, after.server.as_ref()?);
            Some((pick(after) - pick(before)) / jobs)
        };
        Ok(Cost {
            own_us: (after.own_us - before.own_us) / jobs,
            server_us: each(|it| it.cpu_us),
            scripts: each(|it| it.scripts),
            commands: each(|it| it.commands),
            bytes: each(|it| it.memory),
        })
    }
}

impl Cost {
    /// Records all costs except memory, which most scenarios do not keep.
    pub(crate) fn record_to(&self, round: &mut Round) {
        round.record("client_cpu_us_per_job", self.own_us);
        round.record_some("redis_cpu_us_per_job", self.server_us);
        round.record_some("calls_per_job", self.scripts);
        round.record_some("commands_per_job", self.commands);
    }
}
