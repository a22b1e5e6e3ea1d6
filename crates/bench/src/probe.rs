//! What jobs cost besides time: CPU of this process and of Redis, calls, memory.
//!
//! CPU tells designs apart even while the machine is busy with something else.

mod own;
mod server;

use windlass::Result;

pub(crate) use own::own_cpu_us;
pub(crate) use server::ServerProbe;

use crate::measure::{Round, real};
use crate::place::Place;

/// Reads the meters of a place.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    pub(crate) server: Option<ServerProbe>,
}

/// What the meters say at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    own_us: f64,
    server: Option<server::Reading>,
}

/// What was spent between two readings, per job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) own_us: f64,
    pub(crate) server_us: Option<f64>,
    pub(crate) scripts: Option<f64>,
    pub(crate) commands: Option<f64>,
    pub(crate) bytes: Option<f64>,
}

impl Probe {
    pub(crate) async fn open(place: &Place) -> Result<Self> {
        Ok(Self {
            server: ServerProbe::open(place.url()).await?,
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

    /// What was spent for so many jobs since a reading.
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
    /// Writes it down, memory left out: most work leaves none behind.
    pub(crate) fn note(&self, round: &mut Round) {
        round.note("client_cpu_us_per_job", self.own_us);
        round.note_some("redis_cpu_us_per_job", self.server_us);
        round.note_some("calls_per_job", self.scripts);
        round.note_some("commands_per_job", self.commands);
    }
}
